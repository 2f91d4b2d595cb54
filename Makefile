# `make help` lists the commands. Each makes the virtual environment that it needs.
#
# Another Python or torch:  make demo PYTHON=python3.12 TORCH=torch==2.12.0

PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
TORCH ?= torch==2.13.0
JOBS ?= 2

DEMO := .venv-demo
TEST := .venv-test
DOCS := .venv-docs

# Versions that decide what is an error are pinned. What the tests need is in tests/requirements.txt;
# those of debuggers are skipped without tests/debuggers.txt, that of a page of Hugging Face's without tests/models.txt.
CHECKERS := ruff==0.17.4 mypy==2.4.1

# Where `make pair` keeps its environments (6 to 8 GB each).
VENVS ?= .venv-pairs

PYTEST = OMP_NUM_THREADS=1 $(TEST)/bin/python -m pytest -n $(JOBS)
ROOMS := $(sort $(patsubst tests/%/,%,$(dir $(wildcard tests/*/test_*.py tests/*/*/test_*.py))))
# The tests that are done within a minute: what the decompiler does without torch, and the way of one frame through torch.
QUICK := tests/decompiler tests/text tests/record tests/report tests/torch_hooks/session

.PHONY: help demo test quick plain lint coverage docs pair clean

help:  ## this list
	@awk -F ' *## ' '/^[a-z]+:.*## / {sub(/:.*/, "", $$1); printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "make test ROOM=...  the tests of one room of these (or of all of decompiler, torch_hooks):"
	@echo "$(ROOMS)" | tr ' ' '\n' | sed 's/^/    /'

demo: $(DEMO)/ready  ## compile the example of the README and print where to look
	$(DEMO)/bin/python examples/toy.py

ifdef ROOM
test: $(TEST)/ready
	$(PYTEST) tests/$(ROOM)
else
test: lint  ## what CI runs: lint, all tests, and those that need no torch on every other CPython that is found
	$(PYTEST)
	$(TEST)/bin/python tools/other_pythons.py --jobs $(JOBS)
endif

quick: $(TEST)/ready  ## the tests that are done within a minute
	$(PYTEST) $(wildcard $(QUICK))

plain:  ## the tests that need no torch, on one Python:  make plain PYTHON=3.8
	$(shell command -v python3 || command -v python) tools/other_pythons.py --only $(PYTHON) --jobs $(JOBS)

lint: $(TEST)/ready  ## ruff (linter and formatter), mypy, the map of the house
	$(TEST)/bin/ruff check .
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/mypy
	$(TEST)/bin/python tools/house.py --check

coverage: $(TEST)/ready  ## branch coverage by the tests, on every CPython that is found, subprocesses included
	rm -f .coverage .coverage.*
	-OMP_NUM_THREADS=1 $(TEST)/bin/python -m coverage run -m pytest -n $(JOBS)
	-$(TEST)/bin/python tools/other_pythons.py --jobs $(JOBS) --coverage
	$(TEST)/bin/python -m coverage combine --quiet
	$(TEST)/bin/python -m coverage report

docs: $(TEST)/ready $(DOCS)/ready  ## run every program of the docs, compare what it prints, and build the site in docs/_build
	$(TEST)/bin/python tools/executed_blocks.py
	$(TEST)/bin/python tools/notebook.py --check
	$(TEST)/bin/python tools/notebook.py --run
	$(DOCS)/bin/python -m sphinx -W --keep-going -q -b html docs docs/_build
	$(DOCS)/bin/python tools/site_links.py docs/_build

pair:  ## the tests that use torch, on another pair:  make pair PYTHON=3.12 TORCH=2.9.1
	$(shell command -v python3 || command -v python) tools/pair.py --python $(PYTHON) --torch $(TORCH) --venvs $(VENVS) --jobs $(JOBS)

clean:  ## remove the environments and what the demo wrote
	rm -rf $(DEMO) $(TEST) $(DOCS) docs/_build .venv-pairs .venv-python3.* .venv-sid depyf_output

$(DEMO)/ready: Makefile pyproject.toml
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --no-compile $(TORCH) numpy
	$(DEMO)/bin/python -m pip install --quiet --editable .
	touch $@

$(DOCS)/ready: docs/requirements.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet -r docs/requirements.txt
	touch $@

$(TEST)/ready: Makefile pyproject.toml tests/requirements.txt tests/debuggers.txt tests/models.txt
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/python -m pip install --quiet --no-compile $(TORCH) numpy $(CHECKERS) -r tests/requirements.txt -r tests/debuggers.txt -r tests/models.txt
	$(TEST)/bin/python -m pip install --quiet --editable .
	touch $@
