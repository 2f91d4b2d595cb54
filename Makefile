# Two commands do everything, set-up included: `make demo` and `make test`.
#
# Each makes its own virtual environment. Another Python or torch:  make demo PYTHON=python3.12 TORCH=torch==2.12.0
# The tests that use torch, on a pair of versions, in an environment of its own:  make pair PYTHON=3.12 TORCH=2.9.1

PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
TORCH ?= torch==2.13.0
JOBS ?= 2

DEMO := .venv-demo
TEST := .venv-test

# Versions that decide what is an error are pinned.
CHECKERS := ruff==0.17.4 mypy==2.4.1
TESTERS := pytest pytest-xdist pytest-timeout hypothesis dill

# Where `make pair` keeps its environments (6 to 8 GB each).
VENVS ?= .venv-pairs

.PHONY: demo test lint pair clean

demo: $(DEMO)/ready
	$(DEMO)/bin/python examples/toy.py

test: $(TEST)/ready
	$(TEST)/bin/ruff check .
	$(TEST)/bin/mypy
	OMP_NUM_THREADS=1 $(TEST)/bin/python -m pytest -n $(JOBS)

lint: $(TEST)/ready
	$(TEST)/bin/ruff check .
	$(TEST)/bin/mypy

pair:
	$(shell command -v python3 || command -v python) tools/pair.py --python $(PYTHON) --torch $(TORCH) --venvs $(VENVS) --jobs $(JOBS)

$(DEMO)/ready: Makefile pyproject.toml
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --no-compile $(TORCH) numpy
	$(DEMO)/bin/python -m pip install --quiet --editable .
	touch $@

$(TEST)/ready: Makefile pyproject.toml
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/python -m pip install --quiet --no-compile $(TORCH) numpy $(CHECKERS) $(TESTERS)
	$(TEST)/bin/python -m pip install --quiet --editable .
	touch $@

clean:
	rm -rf $(DEMO) $(TEST) depyf_output
