# `make demo` and `make test` do everything on a new machine.
PYTHON   ?= python3.11
VENV     := .venv
BIN      := $(VENV)/bin
PIP      := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" cmake ninja
# One fixed release, so that all machines run the same tests.
TORCH    := "torch==2.13.0"
NATIVE   := CMakeLists.txt $(wildcard native/*.* native/*/*.* src/dln/train/headers/*)
SANITIZE := build/sanitize
# Two layers of the same environment: the command dln, and on top of it what development needs.
COMMAND  := $(VENV)/.command-installed
STAMP    := $(VENV)/.installed
SPARK    := $(VENV)/.spark-installed
DOCS     := $(VENV)/.docs-installed

# Tests and benchmarks read the paper's tables from this folder, if it exists.
DLN_DATA ?= $(abspath $(wildcard ../shared/data))
export DLN_DATA

.PHONY: setup demo test lint tools check test-oldest test-autogluon docs wheels wheel-arm wheel-debian conda fuzz test-gpu bench sanitize pictures clean

setup: $(STAMP)

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: $(PYTHON) was not found; name a Python of 3.11 or later: make PYTHON=/path/to/python"; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)

# Installs again only if the project file or a native source has changed. The build tools are in the
# environment itself, so that a rebuild compiles only what changed. Python compiles modules when they
# are first imported; to compile all of them here would take longer than the demo.
$(COMMAND): $(BIN)/python pyproject.toml $(NATIVE)
	$(PIP) --no-compile $(BUILD_TOOLS)
	$(PIP) --no-compile --no-build-isolation --editable ".[cli]"
	@touch $@

$(STAMP): $(COMMAND)
	$(PIP) $(TORCH)
	$(PIP) --no-build-isolation --editable ".[dev]"
	@touch $@

demo: $(COMMAND)
	@$(BIN)/dln demo --output demo
	@echo
	@echo "dln is installed in $(VENV). It learned the rules above from a table of scikit-learn."
	@echo "Report:   open demo/report.html in a browser"
	@echo "Rules:    $(BIN)/dln rules demo/model.json"
	@echo "Your own: $(BIN)/dln train TABLE.csv --target COLUMN --output model.json"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/make_site.py --check

# Programs that tests run: a browser, compilers, simulators, databases.
tools:
	@bash .ci/tools

check: setup tools
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

# 400 MB, for the tests of exported SQL in Spark. Elsewhere: make .venv/.spark-installed
ifeq ($(CI),true)
check: $(SPARK)
endif

$(SPARK): $(STAMP)
	$(PIP) --no-build-isolation --editable ".[test-spark]"
	@touch $@

test: lint check

# Builds the documentation in build/site; a broken link or a notebook that fails is an error.
docs: $(DOCS)
	$(BIN)/python docs/make_site.py

$(DOCS): $(COMMAND)
	$(PIP) --no-build-isolation --editable ".[docs]"
	@touch $@

# Builds wheels and the source distribution in dist/, and tests them in clean environments on every
# Python that is found, or on those given: make wheels PYTHONS="python3.11 /path/to/python3.14"
wheels:
	@bash .ci/wheels

# Cross-compiles the wheel for 64-bit ARM and tests it in an emulator.
wheel-arm:
	@bash .ci/wheel-arm

# Installs the wheel of dist/ in a fresh Debian without a compiler and uses it like a new user, with
# the Python of that Debian: make wheel-debian SUITE=trixie. Needs root.
wheel-debian:
	@bash .ci/wheel-debian

# Builds the conda package with rattler-build and tests it, with packages from PyPI.
conda:
	$(PYTHON) -m venv build/rattler
	build/rattler/bin/python -m pip install --quiet --disable-pip-version-check py-rattler-build
	build/rattler/bin/python .ci/conda.py

# Tests the oldest supported versions of the dependencies, in an environment of its own. Tests that
# need a program or package that is missing there are skipped; `make test` runs them.
test-oldest:
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/python .ci/oldest.py | tee build/oldest/requirements.txt
	build/oldest/bin/python -m pip install --quiet --disable-pip-version-check \
	  --requirement build/oldest/requirements.txt . hypothesis "pytest<9" pytest-xdist
	CI=false build/oldest/bin/python -m pytest -p no:cacheprovider --override-ini "testpaths=" \
	  --numprocesses 2 --dist loadfile \
	  tests/_util tests/cli tests/core tests/costs tests/data tests/decisions tests/draw \
	  tests/edits tests/encode tests/estimators tests/evaluate tests/explain tests/language \
	  tests/paths tests/prove tests/report tests/shrink tests/search/test_search.py \
	  tests/search/test_search_folds.py tests/train/test_folds.py

# Tests the model for AutoGluon and TabArena, in an environment of its own.
test-autogluon: $(COMMAND)
	$(PYTHON) -m venv build/autogluon
	build/autogluon/bin/python -m pip install --quiet --disable-pip-version-check ".[test-autogluon]"
	build/autogluon/bin/python -m pytest -p no:cacheprovider --override-ini "addopts=" \
	  --confcutdir=tests/integrations \
	  tests/integrations/test_autogluon.py tests/integrations/test_tabarena.py

# Compare dln with independent computations for MINUTES; a failure prints how to repeat it.
MINUTES ?= 5
fuzz: setup
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

# Requires an NVIDIA GPU and CuPy. Elsewhere the tests that need them are skipped, with a reason.
test-gpu: setup
	$(BIN)/python -m pytest tests/train/cuda tests/reproduction/test_perceptron_stack.py

bench: setup
	$(PIP) --no-build-isolation --editable ".[bench]"
	$(BIN)/python -m benchmarks.train_speed --memory
	$(BIN)/python -m benchmarks.predict_speed
	$(BIN)/python -m benchmarks.exports

# Tests the native core with the address and undefined-behaviour sanitizers. Its environment is
# separate and takes all packages except dln from the first one.
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
	  tests/train/test_native_train.py tests/evaluate/test_predict.py tests/evaluate/test_evaluation.py \
	  tests/train/test_discretise.py tests/test_bad_input.py \
	  tests/train/test_engines.py tests/train/test_engine_runs.py tests/prove/test_certificate.py \
	  tests/explain/test_class_reasons.py -k "not too_little_memory"

# Draws the pictures of the README and the docs.
pictures: setup tools
	$(BIN)/python docs/images/make.py

clean:
	rm -rf $(VENV) build dist demo
