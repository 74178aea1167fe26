# Every command sets up what it needs: a virtual environment in .venv with the pinned tools.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test check fmt format lint type imports compat images pictures keys soak counts bench bench-quick clean

help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@echo "Setting up $(VENV) (once; about a minute) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

demo: $(STAMP) ## Show the monitor on a live demo store (set-up included)
	@$(BIN)/dura-tui --demo

test: $(STAMP) ## Run the tests (set-up included)
	$(BIN)/pytest -n 3 --dist loadgroup
	$(BIN)/pytest -n 3 --dist loadgroup --batching off tests/engine tests/store tests/workers tests/crash tests/model

check: $(STAMP) format lint type imports test compat ## Everything a change must pass

fmt: $(STAMP) ## Rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

format: $(STAMP)
	$(BIN)/ruff format --check .

lint: $(STAMP) ## Lint and spelling
	$(BIN)/ruff check .
	$(BIN)/codespell --skip '*.svg' src docs examples README.md CHANGELOG.md CONTRIBUTING.md AGENTS.md

type: $(STAMP) ## Types (mypy strict)
	$(BIN)/mypy

imports: $(STAMP) ## Import contracts
	$(BIN)/lint-imports

soak: $(STAMP) ## Search for faults for long: random calls and arguments, orders of threads, kills, damage
	DURA_TEST_SOAK=1 $(BIN)/pytest -rP tests/model tests/interleavings tests/crash tests/soak tests/fuzz tests/world

counts: $(STAMP) ## Run the searches as `make test` does, and write what they tried into docs/reliability.md
	@rm -f .pytest_cache/counts.json
	$(BIN)/pytest -n 2 --dist loadgroup --counts .pytest_cache/counts.json \
	    tests/model tests/interleavings tests/crash tests/soak tests/fuzz tests/world
	$(BIN)/python docs/counts.py .pytest_cache/counts.json

compat: $(STAMP) ## Run the tests of the dura 1.3.0 release against this engine
	$(BIN)/python tests/compat/run.py

keys: $(STAMP) ## Write the monitor's table of keys in docs/monitor.md anew
	$(BIN)/python docs/keys.py

images: $(STAMP) ## Take the monitor's pictures in docs/images anew
	$(BIN)/python docs/images/make.py

pictures: $(STAMP) ## Take the pictures anew that the monitor's tests compare its screens with
	DURA_TEST_PICTURES=take $(BIN)/pytest -n 2 tests/tui/test_pictures.py

bench: ## Measure everything against the peers, about three hours, and write docs/benchmarks.md
	@$(PYTHON) -m benchmarks --scale large --publish

bench-quick: ## Measure everything in small, in under three minutes
	@$(PYTHON) -m benchmarks --scale quick

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
