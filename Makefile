# `make report`, `make test` and `make docs` do all the set-up they need: Python 3.11 or later and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready

.PHONY: report test hostile differential docs figures clean

report: $(READY)
	$(BIN)/gpgpu-legacy report --output report

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

# All hostile input that the tests know, with HOSTILE_SEED=n other input of its kind; `make test` tries a share.
hostile: $(READY)
	HOSTILE=full $(BIN)/python -m pytest tests/hostile

# A hundred thousand random programs on numpy and on all executors that promise its bits: with PROGRAMS=n that many,
# with HOSTILE_SEED=n others.
differential: $(READY)
	$(BIN)/python tests/campaign.py

docs: $(DOCS_READY)
	$(BIN)/python -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "the documentation is in docs/_build/html/index.html"

figures: $(READY)
	$(BIN)/gpgpu-legacy figure figure-2 --executor numpy --output figures/figure-2.png
	$(BIN)/gpgpu-legacy figure figure-2 --executor numpy --animate --output figures/figure-2.gif
	$(BIN)/gpgpu-legacy figure multichannel --executor numpy --output figures/multichannel.png
	$(BIN)/gpgpu-legacy cache-table --from benchmarks/cache-table.json --plot figures/cache-table.png
	$(BIN)/gpgpu-legacy anomaly --output figures/anomaly.png
	for name in cpu-llvmpipe h100 cpu-lowered h100-lowered; do \
	    $(BIN)/gpgpu-legacy lineage --from benchmarks/lineage-$$name.json --plot figures/lineage-$$name.png || exit 1; \
	done
	for name in h100 cpu16 cpu cpu-avx2; do \
	    $(BIN)/gpgpu-legacy bench --from benchmarks/bench-$$name.json --plot figures/bench-$$name.png || exit 1; \
	done
	for name in h100 cpu16; do \
	    $(BIN)/gpgpu-legacy plan bench --from benchmarks/jacobi-$$name.json --plot figures/jacobi-$$name.png || exit 1; \
	done
	$(BIN)/gpgpu-legacy roofline --chip h100-gl-compute h100-gl-raster --plot figures/roofline-h100.png \
	    --from benchmarks/bench-h100.json benchmarks/bench-h100-raster.json

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
