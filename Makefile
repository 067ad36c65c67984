# Two commands for a newcomer: `make demo` and `make test`. Both make their own environment in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test fast slow lint freeze bench clean
.DEFAULT_GOAL := test

# An environment stands as long as what it was made from does.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lint]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/python docs/demo.py

test: lint fast slow

fast: $(VENV)/.installed
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"

slow: $(VENV)/.installed
	$(BIN)/python -m pytest -q -m slow

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

freeze: $(VENV)/.installed
	$(BIN)/onboard spec freeze

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/harness.py
	$(BIN)/python benchmarks/shards.py

clean:
	rm -rf $(VENV) demo build dist
