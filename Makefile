# `make` alone lists the targets. Needs only Python >= 3.11, make and git.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TEST_EXTRAS ?= test,ann,dask,browser
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install $(CONSTRAINTS) --editable

.PHONY: help demo test test-long test-oldest test-kernels test-gpu mutants sanitize wheels bench docs lint types check clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

demo: $(BIN)/python  ## install, compare the lazy methods on the embedded data set, write a figure
	$(INSTALL) '.[cli,plot]'
	$(BIN)/nearlabel demo --out demo-output

# One thread of linear algebra in each test process: they fill all cores, and threads that wait for work spin.
test test-long test-kernels wheels: export OMP_NUM_THREADS = 1

test: $(BIN)/python  ## install and run the ordinary tests (those on real data need NEARLABEL_DATA)
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --each-value

test-long: $(BIN)/python  ## run the others: whole products of parameters, papers, tutorial, gallery, browser, all data sets
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --each-value $(LONG) -m "long and not slow"

# Long tests of what no library's version changes; they run with the newest libraries.
ONCE = lazy/test_leave_one_out adaptation/test_boosting test_mutants cli/test_reproduce cli/test_documented_examples test_docs test_docstrings test_layers test_top_level

test-oldest:  ## ordinary tests with the oldest libraries that are supported: each, with every third of its parameters
	PYTEST_ADDOPTS="--one-in 6 $(ONCE:%=--ignore=tests/%.py)" $(MAKE) test VENV=.venv-oldest CONSTRAINTS=--constraint=tests/oldest.txt TEST_EXTRAS=test

test-kernels: $(BIN)/python  ## the tests of neighbours with levels of the kernels that are not the default, and without; they must be built where a compiler is
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python tests/levels.py --numprocesses auto --dist loadfile

test-gpu: $(BIN)/python  ## install torch (gigabytes, or what is there) and test the search by a device, on a GPU too if there is one
	$(INSTALL) '.[test,gpu]'
	$(BIN)/python -m pytest tests/neighbors/test_device_search.py tests/neighbors/test_torch.py

mutants: $(BIN)/python  ## break votes, counts, searches, thresholds ... on purpose: the tests must notice (ONLY=words: some)
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python tests/mutants.py $(ONLY)

sanitize: $(BIN)/python  ## build the kernels with AddressSanitizer and UndefinedBehaviorSanitizer, and run their tests
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python tests/sanitize.py

wheels: $(BIN)/python  ## a wheel with kernels and a pure one into dist/, each tested in a new environment (TESTS=tests: by all tests)
	$(INSTALL) '.[wheels]'
	$(BIN)/python tests/wheels.py $(TESTS)

bench: $(BIN)/python  ## install with the competitors, run all benchmarks, write docs/benchmarks.md (QUICK=--quick: a look)
	$(INSTALL) '.[bench]'
	$(BIN)/python benchmarks/search.py $(QUICK)
	$(BIN)/python benchmarks/adversarial.py $(QUICK)
	$(BIN)/python benchmarks/real.py $(QUICK)
	$(BIN)/python benchmarks/peers.py $(QUICK)
	$(BIN)/python benchmarks/rivals.py $(QUICK)
	$(BIN)/python benchmarks/choice.py $(QUICK)
	$(BIN)/python benchmarks/choosing.py $(QUICK)
	$(BIN)/python benchmarks/shares.py $(QUICK)
	$(BIN)/python benchmarks/growth.py $(QUICK)
	$(BIN)/python benchmarks/scale.py $(QUICK)
	$(BIN)/python benchmarks/thresholds.py $(QUICK)
	$(BIN)/python benchmarks/risk_control.py $(QUICK)
	$(BIN)/python benchmarks/sweep.py --full $(QUICK)
	$(BIN)/python benchmarks/updates.py $(QUICK)
	$(BIN)/python benchmarks/reading.py $(QUICK)
	$(BIN)/python benchmarks/encoder.py $(QUICK)
	$(BIN)/python benchmarks/databases.py $(QUICK)
	$(BIN)/python benchmarks/auditing.py $(QUICK)
	$(BIN)/python benchmarks/calibration.py $(QUICK)
	$(BIN)/python benchmarks/resampling.py $(QUICK)
	$(BIN)/python benchmarks/prototypes.py $(QUICK)
	$(BIN)/python benchmarks/tables.py $(QUICK)

docs: $(BIN)/python  ## install and build the documentation site, build/docs/index.html; a warning is an error
	$(INSTALL) '.[docs]'
	rm -rf docs/api  # pages of what is no longer there would warn
	$(BIN)/python -m sphinx -W --keep-going --quiet docs build/docs

lint: $(BIN)/python  ## ruff: rules and formatting
	$(INSTALL) '.[test,lint]'
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(BIN)/python  ## mypy, strict
	$(INSTALL) '.[test,lint]'
	$(BIN)/mypy

check: lint types test test-kernels test-long  ## everything that CI runs

clean:  ## remove what the targets made
	rm -rf $(VENV) demo-output build docs/api docs/gallery dist .pytest_cache .mypy_cache .ruff_cache
