"""What must not be shown is not, wherever it stands and wherever the text was cut; all else stays as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dura import InvalidValue
from dura.redaction import HIDDEN, MARK, Redaction, holds_mark

RULES = Redaction()


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "password", "Password", "PASSWORD", "passwd", "pwd", "userPassword", "PGPASSWORD", "db_password_old", "password1",
        "smtp_pass", "passWord", "userPassWord", "pass_word", "PASS_PHRASE", "passCode", "passphrase", "secret", "client-secret", "clientSecret", "secret_access_key", "token", "accessToken",
        "AUTH_TOKEN", "token_v2", "refresh.token", "api_key", "apiKey", "X-Api-Key", "APIKey", "apikey", "old_api_keys",
        "authorization", "Proxy-Authorization", "auth", "basic_auth", "credential", "credentials", "private_key",
        "privateKeyPem", "cookie", "Set-Cookie", "cookies", "session", "session_id", "sessionid", "jwt", "otp", "cvv", "tokens",
    ],
)  # fmt: skip
def test_obvious_names_hide(name: str) -> None:
    assert RULES.hides(name)


@pytest.mark.parametrize(
    "name",
    [
        "claim_token", "claimToken", "tokens_used", "token_count", "token_type", "tokenizer", "secretary", "secretion", "author",
        "authors", "passenger", "compass", "bypass", "key", "primary_key", "keyboard", "password_changed_at", "session_count",
        "token_expires_in", "password_policy", "cookie_name", "desktop", "", "42", "…",
    ],
)  # fmt: skip
def test_names_that_only_look_like_secrets_are_shown(name: str) -> None:
    assert not RULES.hides(name)


def test_one_s_own_patterns_count_more_than_the_built_in_ones_and_show_more_than_hide() -> None:
    rules = Redaction(
        hide=("iban", "card number", "*_pin", "claim_token", "страна"), show=("session", "old_iban")
    )
    hidden = [
        "iban",
        "customerIban",
        "ibans",
        "card_number",
        "cardNumber",
        "card_pin",
        "claim_token",
        "страна",
        "token",
    ]
    shown = ["session", "session_id", "old_iban", "pin", "pin_card", "card", "number"]
    assert [name for name in hidden if not rules.hides(name)] == []
    assert [name for name in shown if rules.hides(name)] == []
    assert rules.json('{"\\u0441\\u0442\\u0440\\u0430\\u043d\\u0430": "x", "IBAN": "DE1"}') == (
        '{"\\u0441\\u0442\\u0440\\u0430\\u043d\\u0430": "[hidden]", "IBAN": "[hidden]"}'
    )


def test_a_star_shows_or_hides_everything() -> None:
    assert Redaction(show=("*",)).json('{"password": "x"}', ("api_key",)) == '{"password": "x"}'
    assert json.loads(Redaction(hide=("*",)).json('{"a": ["x", 1, null]}')) == {"a": [MARK, MARK, None]}


def test_the_environment_says_patterns_with_commas_between_them() -> None:
    environment = {"DURA_HIDE": " iban, card_number ,,", "DURA_SHOW": "session"}
    assert Redaction.from_environment(environment) == Redaction(
        hide=(" iban", " card_number "), show=("session",)
    )
    assert Redaction.from_environment(environment).hides("iban")
    assert Redaction.from_environment({}) == RULES


@pytest.mark.parametrize("hide", ["iban", ("-",), ("",), (5,), 5, None])
def test_a_pattern_that_matches_nothing_is_refused(hide: Any) -> None:
    with pytest.raises(InvalidValue, match="hide"):
        Redaction(hide=hide)


def test_a_wrong_pattern_in_the_environment_is_refused_by_the_name_of_the_variable() -> None:
    with pytest.raises(InvalidValue, match="DURA_SHOW has the pattern '--'"):
        Redaction.from_environment({"DURA_SHOW": "a,--"})


def test_the_page_on_secrets_names_every_built_in_pattern() -> None:
    page = (Path(__file__).parents[1] / "docs" / "howto" / "secrets.md").read_text("utf-8")
    in_one_word = {pattern.replace("_", "") for pattern in HIDDEN if "_" in pattern}
    named = {pattern.strip("*") for pattern in HIDDEN} - in_one_word
    assert {name for name in named if not re.search(rf"[`…]{name}`", page)} == set()


# --- JSON ------------------------------------------------------------------------------------------------------------


def hidden(value: Any, *names: str, bare: bool = False) -> Any:
    return json.loads(RULES.json(json.dumps(value), names, bare=bare))


def test_what_stands_under_a_name_is_hidden_and_the_shape_stays() -> None:
    value = {
        "user": "ann",
        "password": "hunter2",
        "credentials": {"key": "k", "ports": [80, "x"], "on": True, "none": None},
        "claim_token": 7,
        "list": [{"apiKey": 1.5}, "plain"],
    }
    assert hidden(value) == {
        "user": "ann",
        "password": MARK,
        "credentials": {"key": MARK, "ports": [80, MARK], "on": True, "none": None},
        "claim_token": 7,
        "list": [{"apiKey": MARK}, "plain"],
    }


def test_numbers_under_a_plural_are_counts() -> None:
    assert hidden({"max_tokens": 4096, "tokens": ["a", 3], "token": 4096}) == {
        "max_tokens": 4096,
        "tokens": [MARK, 3],
        "token": MARK,
    }


@pytest.mark.parametrize(
    ("names", "hides"),
    [
        (("api_key",), True),
        (("shop.api_key",), True),
        (("stripe/api_key",), True),
        (("otp:user_7",), True),
        (("otp:user_7/2026-01-05",), True),
        (("cursor", "app.secrets"), True),
        (("session:opened",), False),
        (("approved:ord_1",), False),
        (("session.timeout",), False),
        (("cursor", "poller"), False),
    ],
)
def test_the_last_part_of_a_name_that_is_no_id_hides_all_that_is_kept_under_it(
    names: tuple[str, ...], hides: bool
) -> None:
    assert hidden({"a": ["x"]}, *names) == {"a": [MARK if hides else "x"]}


def test_what_a_step_returns_is_hidden_by_its_name_only_where_it_has_no_key() -> None:
    assert hidden("abc", "fetch_token", bare=True) == MARK
    assert hidden(["abc"], "fetch_token", bare=True) == [MARK]
    assert hidden([{"id": 1, "token": "x"}], "fetch_token", bare=True) == [{"id": 1, "token": MARK}]
    assert hidden({"list": ["a"], "deep": {"b": ["c"]}}, "fetch_token", bare=True) == {
        "list": ["a"],
        "deep": {"b": ["c"]},
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"id": 12345678901234567890, "a": 1.10, "a": NaN, "b":[ ] }',
        '{"note": "the secretary", "tokens_used": 5, "password": null, "token": true}',
        "[" * 5000 + "]" * 5000,
        '"…"',
        "",
    ],
)
def test_a_value_with_nothing_to_hide_is_the_very_same_text(text: str) -> None:
    assert RULES.json(text) is text


def test_only_what_is_hidden_changes_in_the_text() -> None:
    before = (
        '{"big": 12345678901234567890, "a": 1.10, "a": NaN, "password" : "x\\"y", "deep": [[["\\u00e9"]]]}'
    )
    after = (
        '{"big": 12345678901234567890, "a": 1.10, "a": NaN, "password" : "[hidden]", "deep": [[["\\u00e9"]]]}'
    )
    assert RULES.json(before) == after


def test_a_name_written_with_escapes_hides_too() -> None:
    assert RULES.json('{"p\\u0061ssw\\u006frd": "hunter2"}') == '{"p\\u0061ssw\\u006frd": "[hidden]"}'


def test_json_inside_a_text_is_read_too() -> None:
    assert hidden({"body": json.dumps({"token": "abc", "n": 1})}) == {"body": '{"token": "[hidden]", "n": 1}'}


def test_nesting_beyond_any_decoder_is_no_trouble() -> None:
    text = '{"a": ' * 50_000 + '{"password": "x"}' + "}" * 50_000
    assert '"password": "[hidden]"' in RULES.json(text)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('{"password": "hunte…', '{"password": "[hidden]…'),
        ('{"password": "hunter2"…', '{"password": "[hidden]"…'),
        ('{"password": 1234…', '{"password": "[hidden]…'),
        ('{"password": …', '{"password": …'),
        ('{"passw…', '{"passw…'),
        ('{"url": "db://ann:hunte…', '{"url": "db://ann:[hidden]…'),
        ('{"url": "db://ann:hunte\\u00…', '{"url": "db://ann:[hidden]…'),
        ('{"url": "http://host:8080…', '{"url": "http://host:8080…'),
        ('{"token": ["a", {"b": "c…', '{"token": ["[hidden]", {"b": "[hidden]…'),
    ],
)
def test_a_cut_value_hides_what_is_left_and_still_says_that_it_was_cut(text: str, after: str) -> None:
    assert RULES.json(text) == after


def test_what_is_no_json_is_read_as_text_and_hidden_as_a_whole_by_its_name() -> None:
    assert RULES.json("user=ann password=hunter2 {") == "user=ann password=[hidden] {"
    assert RULES.json("a secret {", ("api_key",)) == MARK


SECRET = "qX7-hunter"
PLAIN = st.text(st.characters(exclude_characters="qX"), max_size=8)
HIDING = st.sampled_from(["password", "apiKey", "Set-Cookie", "tokens", 'x"\\secret'])
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6).filter(lambda key: not RULES.hides(key))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.dictionaries(HIDING, st.just(SECRET) | st.just([SECRET, {"a": SECRET}]), min_size=1, max_size=2)
    ),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else None


@given(VALUES, st.booleans())
def test_no_secret_is_left_and_nothing_else_of_the_shape_is_lost(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    found = RULES.json(text)
    assert SECRET not in found
    assert shape(json.loads(found)) == shape(value)
    assert RULES.json(found) == found
    assert holds_mark(json.loads(found)) == (SECRET in text)


@given(VALUES, st.integers(0, 200))
def test_no_part_of_a_secret_is_left_wherever_the_value_was_cut(value: Any, end: int) -> None:
    text = json.dumps(value)
    found = RULES.json(text[:end] + "…" * (end < len(text)))
    assert SECRET[:2] not in found


@given(st.text(max_size=60), st.lists(st.text(max_size=8), max_size=2), st.booleans())
def test_any_text_at_all_can_be_looked_at(text: str, names: list[str], bare: bool) -> None:
    found = RULES.json(text, names, bare=bare)
    assert RULES.json(found, names, bare=bare) == found
    assert RULES.text(RULES.text(text)) == RULES.text(text)


@pytest.mark.parametrize("value", [None, 5, b"password", ["a"]])
def test_what_is_no_text_is_refused(value: Any) -> None:
    for call in (RULES.hides, RULES.json, RULES.text):
        with pytest.raises(InvalidValue, match="must be a str"):
            call(value)


# --- running text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("login failed: password=hunter2, user=ann", "login failed: password=[hidden], user=ann"),
        ("GET /pay?api_key=sk_1&n=2 HTTP/1.1", "GET /pay?api_key=[hidden]&n=2 HTTP/1.1"),
        ("{'password': 'hunter2', 'user': 'ann'}", "{'password': '[hidden]', 'user': 'ann'}"),
        ('{"token": "a\\"b", "n": 1', '{"token": "[hidden]", "n": 1'),
        (r"said {\"token\": \"abc\", \"n\": 1}", r"said {\"token\": \"[hidden]\", \"n\": 1}"),
        ("Login(password='x y', tokens=['a', 'b'], n=1)", "Login(password='[hidden]', tokens=[hidden], n=1)"),
        ("token=SecretStr('abc') n=1", "token=[hidden] n=1"),
        ("token=b'abc'", "token=b'[hidden]'"),
        ("curl -H 'Authorization: Basic dXNlcjpwYXNz' https://x", "curl -H 'Authorization: Basic [hidden]' https://x"),
        ("Authorization: a b c", "Authorization: [hidden]"),
        ("Cookie: a=b; c=d\nHost: x", "Cookie: [hidden]\nHost: x"),
        ("sent Bearer eyJhbGciOi.x.y to x", "sent Bearer [hidden] to x"),
        ("api key: abc", "api key: [hidden]"),
        ("cannot reach postgres://ann:hunter2@db:5432/shop", "cannot reach postgres://ann:[hidden]@db:5432/shop"),
        ("redis://:hunter2@cache", "redis://:[hidden]@cache"),
        ("is\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nno key",
         "is\n-----BEGIN RSA PRIVATE KEY-----[hidden]-----END RSA PRIVATE KEY-----\nno key"),
        ("-----BEGIN PRIVATE KEY-----\nMII", "-----BEGIN PRIVATE KEY-----[hidden]"),
        ("password => hunter2", "password => [hidden]"),
        ("password='not closed", "password='[hidden]"),
        ("session: ab-12 is gone", "session: [hidden] is gone"),
        (r"said '{\"body\": \"{\\\"token\\\": \\\"abc\\\"}\"}'", r"said '{\"body\": \"{\\\"token\\\": \\\"[hidden]\\\"}\"}'"),
        ('environ["API_KEY"] = "abc"', 'environ["API_KEY"] = "[hidden]"'),
        ("password[]=abc&user[token]=d&tokens[0]=e", "password[]=[hidden]&user[token]=[hidden]&tokens[0]=[hidden]"),
        ('Authorization: Digest username="ann", response="abc"', "Authorization: [hidden]"),
        ("curl -H 'Cookie: a=b; sid=\"abc\"' https://x", "curl -H 'Cookie: [hidden]' https://x"),
        ('token="Bearer ABCDEF123 S", n=1', 'token="[hidden]", n=1'),
        ("Cookie: jwt=Bearer ABCDEF123; sid=S", "Cookie: [hidden]"),
        ("curl -H 'Authorization: Bearer ABCDEF123, S'", "curl -H 'Authorization: [hidden]'"),
        ('secret="postgres://ann:hunter2@S/x"', 'secret="[hidden]"'),
        ('password="""S""" n=1', 'password="""[hidden]""" n=1'),
        ("password='''a'S'''", "password='''[hidden]'''"),
        (r'said "password=\"\"\"S\"\"\", n=1"', r'said "password=\"\"\"[hidden]\"\"\", n=1"'),
        ("cannot reach postgres://ann:p@S@db:5432/shop@1", "cannot reach postgres://ann:[hidden]@db:5432/shop@1"),
        ("cannot reach postgres://ann:p@S…", "cannot reach postgres://ann:[hidden]…"),
        ("password := hunter2", "password := [hidden]"),
        ("bearer :=S1", "bearer :=[hidden]"),
        ('token:="hunter2"', 'token:="[hidden]"'),
        ("mysql -u ann --password hunter2 --port 80", "mysql -u ann --password [hidden] --port 80"),
        ("Command '['mysql', '--password', 'a b', 'shop']' died",
         "Command '['mysql', '--password', '[hidden]', 'shop']' died"),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ", "-----BEGIN PGP PRIVATE KEY BLOCK-----[hidden]"),
    ],
)  # fmt: skip
def test_secrets_in_messages_are_hidden(text: str, after: str) -> None:
    assert RULES.text(text) == after
    assert RULES.text(after) == after


@pytest.mark.parametrize(
    "text",
    [
        "KeyError: 'token'",
        "the secretary: Ann; author=ben",
        "token=None password: null",
        "Basic authentication failed",
        "Bearer of bad news",
        "max_tokens=4096 tokens: 5",
        "http://db:5432/path and https://user@host",
        "if token == other: Session::close",
        "claim_token=7",
        "password:",
        """password="", token='', {"secret": ""}""",
        r"said {\"token\": \"\", \"n\": 1}",
        "arguments are required: --password, --token",
        "--max-tokens 4096 --password --token",
        "the fields ['password', 'email'] are missing",
    ],
)
def test_messages_without_a_secret_stay_the_very_same(text: str) -> None:
    assert RULES.text(text) is text


def test_code_in_a_traceback_loses_only_what_stands_in_quotes() -> None:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "shop.py", line 3, in pay\n'
        '    session = login(token=token, password="hunter2")\n'
        "    ~~~~~^^^\n"
        "ValueError: token=abc"
    )
    assert RULES.text(trace) == trace.replace("hunter2", MARK).replace("token=abc", f"token={MARK}")


def test_very_long_words_are_read_in_a_moment() -> None:
    text = "x" * 300_000 + " password=" + "y" * 300_000
    assert RULES.text(text) == "x" * 300_000 + " password=[hidden]"
    assert RULES.text(f"token {text}")


# --- the mark --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [MARK, f"db://ann:{MARK}@db", {"a": [MARK]}, {MARK: 1}, [[MARK]]])
def test_the_mark_is_found_wherever_it_stands(value: Any) -> None:
    assert holds_mark(value)


def test_the_mark_is_found_however_deep_it_stands() -> None:
    value: Any = MARK
    for _ in range(100_000):
        value = [value]
    assert holds_mark(value)
    while (
        value != MARK
    ):  # Let go of it level by level: some Pythons free what is nested this deeply by recursion.
        [value] = value


@pytest.mark.parametrize("value", [None, 1, True, "hidden", [], {}, {"a": ["b"]}])
def test_other_values_hold_no_mark(value: Any) -> None:
    assert not holds_mark(value)
