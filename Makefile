# Everything runs in .venv, which the first target that needs it makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types unit check bench clean

demo: $(VENV)/installed
	$(BIN)/duckanon demo

test: lint types check

lint: $(VENV)/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/tested
	$(BIN)/mypy

# Single modules, in seconds.
unit: $(VENV)/tested
	$(BIN)/python -m pytest -q -m unit

# Everything, a file at a time on every core; tests/conftest.py says in which order. Many tests start a process, which
# finds its modules compiled even where Python may not write them.
check: $(VENV)/tested
	$(BIN)/python -m compileall -q duckanon tests
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

bench: $(VENV)/tested
	$(BIN)/python -m bench

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/tested: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@ $(VENV)/installed

clean:
	rm -rf $(VENV) .venv-dbt .venv-peers .venv-spark .venv-*.lock dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
