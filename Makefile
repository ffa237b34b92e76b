# `make report`, `make test` and `make docs` do all the set-up they need: Python 3.11 or later and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready

# The benchmarks that are drawn.
CHARTS := bench-h200 bench-cpu16 bench-cpu jacobi-h200

.PHONY: report test test-all test-rest hostile differential docs site figures clean

report: $(READY)
	$(BIN)/gpgpu-legacy report --output report

# The first tier: lint, types, and the tests of pyproject.toml's `testpaths`.
test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

# All tests.
test-all: $(READY)
	$(BIN)/python -m pytest tests

# All tests that `make test` leaves out.
test-rest: $(READY)
	$(BIN)/python -m pytest tests --second-tier

# All hostile input that the tests know, with HOSTILE_SEED=n other input of its kind; `make test-all` tries a share.
hostile: $(READY)
	HOSTILE=full $(BIN)/python -m pytest tests/hostile

# A hundred thousand random programs on numpy and on all executors that promise its bits: with PROGRAMS=n that many,
# with HOSTILE_SEED=n others; with DASK=tcp://… on a cluster, whose workers have PYTHONPATH=tests:tests/hostile.
differential: export PROGRAMS ?= 100000
differential: export KERNELS ?= 1000
differential: export MESA_SHADER_CACHE_DISABLE = true
differential: $(READY)
	$(BIN)/python -m pytest -q -n 0 tests/hostile/test_random_programs.py tests/differential/test_random_kernels.py

docs: $(DOCS_READY)
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "the documentation is in docs/_build/html/index.html"

# One folder for any static host: the documentation with the gallery, the page, and some algorithms to play.
SITE := docs/_build/site
site: $(DOCS_READY)
	rm -rf $(SITE)
	$(BIN)/python -m sphinx -W --keep-going -n -q -t site -b html -d docs/_build/doctrees docs $(SITE)
	$(BIN)/gpgpu-legacy page -o $(SITE)/page.html
	mkdir $(SITE)/play
	$(BIN)/python docs/plays.py $(SITE)/play
	@echo "the site is in $(SITE)/index.html"

figures: $(READY)
	$(BIN)/python -m pytest -q -n 0 --update-golden tests/docs/test_pages.py -k gallery
	$(BIN)/gpgpu-legacy study figure-2 --executor numpy --plot figures/figure-2.png
	$(BIN)/gpgpu-legacy study figure-2 --executor numpy --plot figures/figure-2.gif
	$(BIN)/gpgpu-legacy study multichannel --executor numpy --plot figures/multichannel.png
	$(BIN)/gpgpu-legacy study cache-table --from benchmarks/cache-table.json --plot figures/cache-table.png
	for name in crossover infer-cache branching; do \
	    $(BIN)/gpgpu-legacy study $$name --from benchmarks/$$name.json --plot figures/$$name.png || exit 1; \
	done
	$(BIN)/gpgpu-legacy study anomaly --plot figures/anomaly.png
	$(BIN)/gpgpu-legacy study packing --plot figures/packing.png
	$(BIN)/gpgpu-legacy study lineage --beside benchmarks/lineage-cpu-llvmpipe.json benchmarks/lineage-h100.json \
	    --plot figures/lineage.png
	$(BIN)/gpgpu-legacy study lineage --beside benchmarks/lineage-cpu-lowered.json benchmarks/lineage-h200-lowered.json \
	    benchmarks/lineage-h200-lowered-2048.json --plot figures/lineage-lowered.png
	for name in $(CHARTS); do \
	    $(BIN)/gpgpu-legacy bench --from benchmarks/$$name.json --plot figures/$$name.png || exit 1; \
	done

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gpgpu_legacy needs Python 3.11 or later; set PYTHON to one")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $(READY)

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $(DOCS_READY)

clean:
	rm -rf $(VENV) report build dist docs/_build
