"""The `dura` program: from the command line to an exit code, with every error told in a line or two."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence

from dura.cli.commands import COMMANDS, overall_help
from dura.cli.exits import CommandFailed, Exit
from dura.cli.output import abandon_result, complain, flush_result, prepare_streams, say
from dura.errors import EngineError, InvalidValue, StoreError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The arguments; those of the process by default.

    Returns:
        The exit code, an `Exit`.
    """
    prepare_streams()
    # What an upgrade did is this program's own report; the engine's warnings would repeat it.
    logging.getLogger("dura").addHandler(logging.NullHandler())
    if sys.stdout is None:
        complain("standard output is closed: there is nowhere to print to, and nothing was done")
        return Exit.STORE
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        flush_result()
    except BrokenPipeError:
        abandon_result()
        return Exit.DONE
    except KeyboardInterrupt:
        complain("interrupted")
        return Exit.INTERRUPTED
    except CommandFailed as failure:
        complain(str(failure))
        return failure.exit_code
    except StoreError as error:
        complain(str(error))
        return Exit.STORE
    except InvalidValue as error:
        complain(str(error))
        return Exit.USAGE
    except EngineError as error:
        complain(str(error))
        return Exit.NOT_DONE
    except UnicodeError as error:
        complain(f"a path or an argument cannot be used as text: {error}")
        return Exit.USAGE
    except OSError as error:
        abandon_result()
        complain(f"the operating system refused: {error}")
        return Exit.STORE
    return code


def _run(argv: list[str]) -> int:
    if not argv:
        complain("no command given; `dura --help` lists them")
        return Exit.USAGE
    first, *rest = argv
    if first in ("-h", "--help"):
        say(overall_help())
        return Exit.DONE
    if first == "--version":
        say(f"dura {_version()}")
        return Exit.DONE
    command = COMMANDS.get(first)
    if command is None:
        complain(f"there is no command {first!r}; `dura --help` lists them")
        return Exit.USAGE
    try:
        args = command.parser().parse_words(rest)
    except SystemExit:
        # The help was asked for and has been printed; errors come as CommandFailed.
        return Exit.DONE
    return command.run(args)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dura")
    except PackageNotFoundError:
        return "(not installed)"
