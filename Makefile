# Needs Python >= 3.11 and make; everything else goes into .venv.
PYTHON ?= python3
# `make EXTRAS=dev,alfworld test` also installs ALFWorld: two of its dependencies compile for some minutes.
EXTRAS ?= dev
COMMA := ,
INSTALLED := .venv/installed-$(subst $(COMMA),-,$(EXTRAS))
BIN := .venv/bin

.PHONY: demo test faults lint bench clean
.DEFAULT_GOAL := demo

# The environment is made anew when the dependencies change. Some of them ask for more than they need
# at run time, hence exact pins in constraints.txt.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	touch $@

demo: $(INSTALLED)
	$(BIN)/ocm run sweeps/demo.toml

test: $(INSTALLED)
	$(BIN)/python -m pytest

# Every fault at length: 235 kills, full disks, jumping clocks, hostile code.
faults: $(INSTALLED)
	$(BIN)/python -m pytest -m faults -s

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
