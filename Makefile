# `make` alone lists the targets. Needs only Python >= 3.11, make and git.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TEST_EXTRAS ?= test,ann,dask,browser,docs
INSTALL := $(BIN)/python -m pip --disable-pip-version-check --quiet install $(CONSTRAINTS) --editable

.PHONY: help demo test test-all test-long test-oldest test-kernels test-gpu api names mutants mutants-generated install-oldest sbom sanitize wheels release bench house docs notebooks man paper lint types check clean fuzz fuzz-estimators faults strangers test-clients

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

demo: $(BIN)/python  ## install, compare the lazy methods on the embedded data set, write a figure
	$(INSTALL) '.[cli,plot]'
	$(BIN)/nearlabel demo --out demo-output

# One thread of linear algebra in each test process: they fill all cores, and threads that wait for work spin.
test test-long test-kernels wheels release: export OMP_NUM_THREADS = 1

test: $(BIN)/python  ## install and run the ordinary tests (those on real data need NEARLABEL_DATA)
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --each-value

# More processes than cores: many long tests wait for programs that they have started.
LONG_WORKERS ?= 3
test-long: $(BIN)/python  ## run the others: whole products of parameters, papers, tutorial, gallery, browser, all data sets
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python -m pytest --numprocesses $(LONG_WORKERS) --dist loadfile --each-value $(LONG) -m "long and not slow"

# Tests of what no library's version changes; they run with the newest libraries.
ONCE = files/test_leftovers.py fuzz/test_round_trips.py test_text_encoding.py lazy/test_leave_one_out.py rivals/test_boosting.py test_mutants.py cli/test_reproduce.py cli/test_documented_examples.py test_docs.py test_docstrings.py test_layers.py test_top_level.py test_house.py test_names.py test_release.py faults papers strangers

install-oldest:  ## install the oldest libraries that are supported
	$(MAKE) .venv-oldest/bin/python VENV=.venv-oldest
	.venv-oldest/bin/python -m pip --disable-pip-version-check --quiet install --constraint=tests/oldest.txt --editable '.[test]'

test-oldest:  ## ordinary tests with the oldest libraries that are supported: of products of parameters one in forty
	PYTEST_ADDOPTS="--one-in 40 $(ONCE:%=--ignore=tests/%)" $(MAKE) test VENV=.venv-oldest CONSTRAINTS=--constraint=tests/oldest.txt TEST_EXTRAS=test

test-all: $(BIN)/python  ## ordinary tests on every supported Python that is here, with newest and oldest libraries (NOX="--session tests-3.12(oldest)": some)
	$(BIN)/python -m pip --disable-pip-version-check --quiet install 'nox>=2025.2.9'
	$(BIN)/nox $(NOX)

test-kernels: $(BIN)/python  ## the tests of neighbours with levels of the kernels that are not the default, and without; they must be built where a compiler is
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python tests/levels.py --numprocesses auto --dist loadfile

test-gpu: $(BIN)/python  ## install torch (gigabytes, or what is there) and test the search by a device, on a GPU too if there is one
	$(INSTALL) '.[test,gpu]'
	$(BIN)/python -m pytest tests/neighbors/test_device_search.py tests/neighbors/test_torch.py

api: $(BIN)/python  ## write the names and signatures of this version to tests/api.txt, when a release is made
	$(INSTALL) .
	$(BIN)/python tests/api.py

names: $(BIN)/python  ## write what the library declares: nearlabel/utils/names.py, __init__.pyi, and __all__ of each room
	$(INSTALL) '.[test]'
	$(BIN)/python tests/names.py

fuzz-estimators: $(BIN)/python  ## random problems for every estimator, N=2000 from SEED=0 on: right, or a clear error
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	PYTHONPATH=tests $(BIN)/python -m fuzz.estimators --number $(or $(N),2000) --seed $(or $(SEED),0)

mutants: $(BIN)/python  ## break votes, counts, searches, thresholds ... on purpose: the tests must notice (ONLY=words: some)
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python tests/mutants.py $(ONLY)

mutants-generated: $(BIN)/python  ## mutants that a tool makes of the core, drawn at random, EACH= of each file (ONLY=words: some files); docs/mutants.md
	$(INSTALL) '.[$(TEST_EXTRAS),mutants]'
	OMP_NUM_THREADS=1 $(BIN)/python tests/generated_mutants.py $(ONLY) --each $(or $(EACH),40) --json tests/mutants.json --page docs/mutants.md

fuzz: $(BIN)/python  ## give every reader N=1000 damaged files (TARGETS=words: some; SEED=1: others; KEEP=--keep: write the page's table)
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	PYTHONPATH=tests $(BIN)/python -m fuzz.readers $(or $(N),1000) $(TARGETS) --seed $(or $(SEED),0) $(KEEP)

USER_EXTRAS = cli,completion,plot,data,frames,polars,tables,xlsx,text,ann,persistence,lance,qdrant,pgvector,dask,serve
sbom:  ## a software bill of materials of all extras but gpu (build/sbom.cdx.json), and docs/licences.md; a licence nobody has allowed is an error, and a known vulnerability (LOOK_UP=--required: and a package that cannot be looked up)
	rm -rf .venv-sbom .venv-cyclonedx build/vulnerabilities.json
	$(MAKE) .venv-sbom/bin/python VENV=.venv-sbom
	$(MAKE) .venv-cyclonedx/bin/python VENV=.venv-cyclonedx
	.venv-sbom/bin/python -m pip --disable-pip-version-check --quiet install '.[$(USER_EXTRAS)]'
	.venv-cyclonedx/bin/python -m pip --disable-pip-version-check --quiet install 'cyclonedx-bom>=7' 'pip-audit>=2.10'
	mkdir -p build
	.venv-cyclonedx/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible -o build/sbom.cdx.json .venv-sbom/bin/python
	.venv-sbom/bin/python tests/licences.py build/sbom.cdx.json docs/licences.md
	.venv-cyclonedx/bin/pip-audit --path "$$(.venv-sbom/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" --format json --output build/vulnerabilities.json --progress-spinner off || true
	.venv-sbom/bin/python tests/vulnerabilities.py build/vulnerabilities.json $(LOOK_UP)

sanitize: $(BIN)/python  ## build the kernels with AddressSanitizer and UndefinedBehaviorSanitizer, and run their tests
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	$(BIN)/python tests/sanitize.py

strangers:  ## run other projects' tests on ours, which are fetched; what the ledger does not expect is an error; writes docs/strangers.md (SUITES=words: some)
	$(MAKE) .venv-strangers/bin/python VENV=.venv-strangers
	.venv-strangers/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[persistence]' 'pytest>=8.2' pandas 'scikit-learn==1.9.*'
	OMP_NUM_THREADS=1 .venv-strangers/bin/python tests/strangers/run.py $(SUITES)

test-clients:  ## install other libraries that use ours (gigabytes), and run the recipes of docs/howto/clients.md
	$(MAKE) .venv-clients/bin/python VENV=.venv-clients
	.venv-clients/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[test,clients]'
	.venv-clients/bin/python -m pytest tests/clients/test_recipes.py -rs

wheels: $(BIN)/python  ## a wheel with kernels and a pure one into dist/, each tested in a new environment (TESTS=tests: by all tests)
	$(INSTALL) '.[wheels]'
	$(BIN)/python tests/wheels.py $(TESTS)

release:  ## what a release consists of, into dist/: built, checked, installed into new environments and tested there (PYTHONS="python3.11 python3.13": by these; ONE_IN=8: some tests; TESTS=...); uploads nothing
	$(MAKE) .venv-release/bin/python VENV=.venv-release
	.venv-release/bin/python -m pip --disable-pip-version-check --quiet install --editable '.[release]'
	.venv-release/bin/python tests/release.py $(if $(ONE_IN),--one-in $(ONE_IN)) $(if $(PYTHONS),--pythons "$(PYTHONS)") $(TESTS)

faults: $(BIN)/python  ## kill commands at random moments; nothing may be lost (KILLS=200 SCENARIOS="fit predict"); figures on docs/faults.md
	$(INSTALL) '.[$(TEST_EXTRAS)]'
	OMP_NUM_THREADS=1 $(BIN)/python tests/faults/kill.py --kills $(or $(KILLS),20) --json tests/faults/results.json --page docs/faults.md $(SCENARIOS)

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
	$(BIN)/python benchmarks/large.py $(QUICK)
	$(BIN)/python benchmarks/many_labels.py $(QUICK)
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
	$(BIN)/python benchmarks/charts.py

house: $(BIN)/python  ## files, lines, imports and the paths of calls in src/nearlabel, with goals (LIST=--list: which; BEFORE=SRC: compare times with another source tree)
	$(INSTALL) '.[test]'
	$(BIN)/python benchmarks/house.py $(LIST) $(if $(BEFORE),--before $(BEFORE)) $(if $(JSON),--json $(JSON))

docs: $(BIN)/python  ## install and build the documentation site, build/docs/index.html; a warning is an error
	$(INSTALL) '.[docs]'
	rm -rf docs/api  # pages of what is no longer there would warn
	OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --jobs auto --keep-going --quiet docs build/docs

notebooks: $(BIN)/python  ## execute the notebooks of docs/notebooks, and store what their cells show
	$(INSTALL) '.[docs]'
	$(BIN)/python tests/notebooks.py

man: $(BIN)/python  ## write the manual page of the command line, build/man/nearlabel.1, from its help
	$(INSTALL) .
	$(BIN)/python tests/manual.py build/man/nearlabel.1

paper:  ## build/paper.pdf, by pandoc and typst, both from the package index
	$(MAKE) .venv-paper/bin/python VENV=.venv-paper
	.venv-paper/bin/python -m pip --disable-pip-version-check --quiet install pypandoc_binary typst
	.venv-paper/bin/python paper/build.py

lint: $(BIN)/python  ## ruff: rules and formatting; words to avoid in pages and sources
	$(INSTALL) '.[test,lint]'
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python tests/prose.py

types: $(BIN)/python  ## mypy, strict
	$(INSTALL) '.[test,lint]'
	$(BIN)/mypy

check: lint types test test-kernels test-long  ## everything that CI runs

clean:  ## remove what the targets made
	rm -rf $(VENV) .venv-release .venv-strangers .venv-clients .venv-paper demo-output build docs/api docs/gallery dist .pytest_cache .mypy_cache .ruff_cache
