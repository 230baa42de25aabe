# Everything a newcomer needs: `make demo` shows the main job, `make test` proves it.
# Needs Python 3.11+ and make; everything else is installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
BENCH_STAMP := $(VENV)/installed-bench
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help install demo test check bench format clean

help:
	@echo "make install   install the package and the test tools into $(VENV)"
	@echo "make demo      crawl a synthetic web, compare the result with the truth, search it"
	@echo "make test      run make check, then all tests"
	@echo "make check     run ruff, ruff format, mypy --strict and import-linter"
	@echo "make bench     run every benchmark at its default size, compared with other tools"
	@echo "make format    fix and format the code with ruff"

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "tarrafa needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 2; }
	@echo "installing into $(VENV) (the first time takes about a minute)"
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt --editable '.[test]'
	@# pip compiles only the dependencies. In a read-only checkout every command would compile the package again.
	$(BIN)/python -m compileall -q src
	@touch $@

$(BENCH_STAMP): $(STAMP)
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	@touch $@

demo: install
	@$(BIN)/tarrafa demo

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	@# Two processes, each with whole files, because most tests wait for processes of their own.
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

bench: $(BENCH_STAMP)
	$(BIN)/python benchmarks/bench_urls.py
	$(BIN)/python benchmarks/bench_extract.py
	$(BIN)/python benchmarks/bench_web.py
	$(BIN)/python benchmarks/bench_repository.py
	$(BIN)/python benchmarks/bench_refresh.py
	$(BIN)/python benchmarks/bench_crawl.py
	$(BIN)/python benchmarks/bench_real.py
	$(BIN)/python benchmarks/bench_event_loop.py
	$(BIN)/python benchmarks/bench_cluster.py
	$(BIN)/python benchmarks/bench_rank.py
	$(BIN)/python benchmarks/bench_search.py

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
