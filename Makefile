# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON   ?= python3.11
VENV     := .venv
BIN      := $(VENV)/bin
STAMP    := $(VENV)/.installed
PIP      := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
# One release, so that every machine tests the same.
TORCH    := "torch==2.13.0"
NATIVE   := CMakeLists.txt $(wildcard native/*.* native/*/*.*)
SANITIZE := build/sanitize

# Tests and benchmarks read the paper's tables where a folder of them stands beside the repository.
DLN_DATA ?= $(abspath $(wildcard ../shared/data))
export DLN_DATA

.PHONY: setup demo test lint tools check test-gpu bench sanitize pictures clean

setup: $(STAMP)

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: $(PYTHON) is not on the path; say PYTHON=/path/to/python (3.11 or later)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# Quick the second time: only a change of the project file or of the native sources reinstalls. The
# build tools stand in the environment itself, so that a rebuild compiles only what changed.
$(STAMP): $(BIN)/python pyproject.toml $(NATIVE)
	$(PIP) $(BUILD_TOOLS) $(TORCH)
	$(PIP) --no-build-isolation --editable ".[dev]"
	@touch $@

demo: setup
	$(BIN)/dln demo --output demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Programs that tests run: a browser, compilers, simulators, databases.
tools:
	@bash .ci/tools

check: setup tools
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

test: lint check

# On a machine with an NVIDIA card and CuPy; elsewhere the tests that need them are skipped by name.
test-gpu: setup
	$(BIN)/python -m pytest tests/test_cuda.py tests/test_cuda_*.py tests/test_bench_stack.py

bench: setup
	$(PIP) --no-build-isolation --editable ".[bench]"
	$(BIN)/python benchmarks/train_speed.py --memory
	$(BIN)/python benchmarks/predict_speed.py
	$(BIN)/python benchmarks/exports.py

# The native core under address and undefined-behaviour sanitizers, in an environment of its own
# that borrows everything but dln from the first one.
sanitize: setup
	$(PYTHON) -m venv $(SANITIZE)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	  > $(SANITIZE)/lib/$$(ls $(SANITIZE)/lib)/site-packages/borrowed.pth
	$(SANITIZE)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation --force-reinstall \
	  -C build-dir=$(SANITIZE)/cmake -C cmake.define.DLN_SANITIZE=ON .
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(SANITIZE)/bin/python -m pytest -p no:cacheprovider \
	  tests/test_native_train.py tests/test_predict.py tests/test_discretise.py tests/test_bad_input.py \
	  tests/test_engines.py tests/test_engine_runs.py -k "not too_little_memory"

# The pictures in the README.
pictures: setup tools
	$(BIN)/python docs/images/make.py

clean:
	rm -rf $(VENV) build dist demo
