# Each target does all its own set-up: a fresh clone needs Python 3.11 or newer, make and a package index, nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# One thread for each of several test processes: threads that wait for a busy core are a hundred times slower. Bytecode is
# kept, since hundreds of processes import sozo. A process without tests takes over half of what the other has left.
PARALLEL := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=
SHARED := --numprocesses auto --maxprocesses 4 --dist worksteal
NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sozo needs Python 3.11 or newer: make PYTHON=python3.11 ...")'

.DEFAULT_GOAL := help
.PHONY: help install doctor quickstart gpu-check docs test test-core test-slow test-integrations test-vllm test-cluster lint format

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

install: $(STAMP) ## make the virtual environment with every pinned package

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) $(NEW_ENOUGH)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt setuptools wheel
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

doctor: PYTHON := $(or $(wildcard $(BIN)/python),$(PYTHON))
doctor: ## a table of the extras: what is installed, what is missing, and the command that installs it (seconds)
	@$(PYTHON) $(NEW_ENOUGH)
	@$(PYTHON) recipes/doctor.py

quickstart: $(STAMP) ## train the embedded model in two ways and show what it learned (no GPU, no hub; about four minutes on two cores)
	$(BIN)/python -m sozo.studies.quickstart

gpu-check: $(STAMP) ## samplers, SFT, DPO, GRPO and vLLM on one GPU (or a CPU) beside what is expected, as a table to send us
	$(BIN)/python tests/gpu/check.py

# Its own packages: they are not needed for anything else, and read sozo's sources without importing them.
DOCS := build/docs-packages/bin
docs: build/docs-packages/.installed ## these pages and an API reference as a site with search: build/docs/index.html (a minute)
	$(DOCS)/python docs/pages.py
	$(DOCS)/zensical build --clean --strict

build/docs-packages/.installed: docs/requirements.txt
	$(PYTHON) $(NEW_ENOUGH)
	$(PYTHON) -m venv build/docs-packages
	$(DOCS)/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	touch $@

test: lint ## lint, type check and the test suite
	$(PARALLEL) $(BIN)/python -m pytest -m "not slow" -rs $(SHARED)
	@echo "Beside these tests: make test-vllm asks vLLM's own engine, on a CPU ($(VLLM_COST))"

test-core: $(STAMP) ## the core's tests, on a copy without suite and studies that is installed by itself
	$(PARALLEL) $(BIN)/python tests/core.py $(SHARED)

test-slow: $(STAMP) ## the tests that take minutes
	$(BIN)/python -m pytest -m slow -rs

test-integrations: $(STAMP) ## the integrations in verl, OpenRLHF, verifiers, inspect_ai, lm-eval, flexeval, in environments of their own
	$(BIN)/python tests/integrations/run.py

# Its own packages: vLLM needs other versions, and an engine and a torch that were built for CPUs. Where the package index
# has torch for GPUs only, PIP_EXTRA_INDEX_URL names the index of PyTorch's builds for CPUs.
VLLM := .integrations/vllm
VLLM_COST := an environment of 4.5 GB, once, and ten minutes of tests or more, half an hour beside other work
test-vllm: $(VLLM)/.installed ## vLLM's own engine and server on a CPU: sampling, GRPO, JCQ; in an environment of its own (4.5 GB)
	$(PARALLEL) $(VLLM)/bin/python -m pytest -rs -o timeout=900 tests/real_vllm  # an engine takes a minute to start

$(VLLM)/.installed: tests/real_vllm/requirements.txt
	$(PYTHON) $(NEW_ENOUGH)
	@echo "$(VLLM): $(VLLM_COST); installing takes some minutes, a quarter of an hour on a busy machine"
	$(PYTHON) -m venv --clear $(VLLM)
	$(VLLM)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $< || \
	    { echo "If pip finds no torch for CPUs: PIP_EXTRA_INDEX_URL must name the index of PyTorch's builds for CPUs"; exit 1; }
	touch $@

# TESTS are words of pytest: make test-cluster TESTS="-k test_c"
test-cluster: $(STAMP) ## two hosts and a real Slurm on this machine: killed, preempted, out of time (root, Linux; two quiet cores)
	$(BIN)/python tests/cluster/two_hosts.py $(TESTS)

lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP) ## format the code
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
