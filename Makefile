# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
NATIVE := CMakeLists.txt $(wildcard native/*)

export DLN_DATA ?= $(abspath $(wildcard ../shared/data))

.PHONY: setup demo test lint sanitize bench clean

setup: $(STAMP)

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "make: needs $(PYTHON); or say PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Quick the second time: only a change of the project file or of the native sources reinstalls.
$(STAMP): $(VENV)/bin/python pyproject.toml $(NATIVE)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

demo: setup
	$(BIN)/python examples/demo.py

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest

clean:
	rm -rf $(VENV) build dist demo
