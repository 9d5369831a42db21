# The whole workflow. Needs Python 3.11 or newer, git and make; everything else is installed into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PEERS := .venv-peers
DPMM := .venv-dpmm
# One more than two processors: many tests wait for something.
WORKERS ?= 3

.PHONY: help demo reproduce test lint format bench bench-quality bench-accuracy bench-tables bench-rivals bench-curves help-pages peers soak mutants spark lock clean

help:
	@echo "make demo   install, run the main job on generated data, write demo-output/"
	@echo "make test   every test of an ordinary day (5 minutes on 2 cores); make test ROOM=stream  those of one room"
	@echo "make lint   ruff, mypy --strict, import contracts, the architecture test"
	@echo "make help-pages  write anew what the tests compare every --help with"
	@echo "make bench  speed, as ratios measured in one run"
	@echo "make bench-quality  accuracy of all strategies beside public systems, on Diabetes (long)"
	@echo "make bench-accuracy  cross entropies of every strategy on Diabetes (about 5 minutes)"
	@echo "make bench-rivals  AIM on real and made tables of many kinds (hours; make peers first)"
	@echo "make bench-curves  bits of adaptive over epsilon, holders and records (an hour), tables and figures of docs/accuracy.md"
	@echo "make peers  install dpart, DataSynthesizer, dpmm and real tables into $(PEERS) and $(DPMM), to compare with"
	@echo "make reproduce  the experiments of the thesis, all of them (half an hour), in reproduced/"
	@echo "make soak   everything longer: sweeps, fuzzing, kills, fault runs, mutants (hours)"
	@echo "make mutants  mutants of the catalogue; make mutants ROOM=dp SAMPLE=40 SEED=0  some of one room, at random"
	@echo "make spark  install Spark beside the others, for the tests that need it (and Java)"
	@echo "make lock   pin the newest dependencies again (needs uv)"

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "panbayes needs Python 3.11 or newer, found %d.%d: run make PYTHON=/path/to/python3.11" % sys.version_info[:2])'
	@echo "installing into $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)
	@$(BIN)/panbayes demo --output demo-output

reproduce: $(READY)
	@$(BIN)/python -m reproduction all -o reproduced

# Many tests start the command in a process of its own, which starts faster where bytecode may be kept.
ROOM ?=
SAMPLE ?= 40
SEED ?= 0
TESTS = $(if $(ROOM),tests/$(ROOM) "tests/test_docs.py::test_doctests[$(ROOM)]",tests)

test: $(READY)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) $(TESTS)

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m pytest -q tests/test_architecture.py

format: $(READY)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

help-pages: $(READY)
	@$(BIN)/python -m tests.cli.help_pages

bench: $(READY)
	@$(BIN)/python -m bench

bench-accuracy: $(READY)
	@$(BIN)/python -m bench.cross_entropy

# dpart's own pins cannot be installed on Python 3.11 (see bench/peers-overrides.in), hence --no-deps.
$(PEERS)/.ready: requirements-peers.lock
	@echo "installing into $(PEERS) (once)"
	@$(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install -qq --disable-pip-version-check --require-hashes --no-deps -r requirements-peers.lock
	@touch $@

$(DPMM)/.ready: requirements-dpmm.lock
	@echo "installing into $(DPMM) (once)"
	@$(PYTHON) -m venv $(DPMM)
	@$(DPMM)/bin/python -m pip install -qq --disable-pip-version-check -r requirements-dpmm.lock
	@touch $@

peers: $(PEERS)/.ready $(DPMM)/.ready

bench-quality: $(READY)
	@$(BIN)/python -m bench.quality --dpmm $(DPMM)/bin/python --dpart $(PEERS)/bin/python

# Real tables of other kinds, out of a package that make peers installs: bench/real_tables.py.
bench-tables: $(PEERS)/.ready
	@$(PEERS)/bin/python bench/real_tables.py $(PEERS)/tables
	@$(PEERS)/bin/python bench/real_tables.py --untouched $(PEERS)/untouched

bench-rivals: $(READY) $(DPMM)/.ready bench-tables
	@$(BIN)/python -m bench.rivals --dpmm $(DPMM)/bin/python --tables $(PEERS)/tables --tables $(PEERS)/untouched \
		--keep $(DPMM)/runs --out docs/figures/rivals.json

bench-curves: $(READY) bench-tables
	@$(BIN)/python -m bench.curves measure --tables $(PEERS)/tables bounds diabetes made edge epsilon holders records cost
	@$(BIN)/python -m bench.curves_page print
	@$(BIN)/python -m bench.curves_page draw

soak: $(READY)
	@PANBAYES_SOAK=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) $(TESTS)

mutants: $(READY)
	@$(BIN)/python -m tests.soak.mutants $(or $(ROOM),--catalogue) --sample $(SAMPLE) --seed $(SEED)

spark: $(READY)
	@echo "installing Spark into $(VENV) (half a gigabyte)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements-spark.lock

lock:
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --group dev --no-annotate --no-header --no-emit-index-url --output-file requirements-dev.lock pyproject.toml
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate --no-header --no-emit-index-url --constraint requirements-dev.lock --output-file requirements.lock pyproject.toml
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --group spark --no-annotate --no-header --no-emit-index-url --constraint requirements-dev.lock --output-file requirements-spark.lock
	uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate --no-header --no-emit-index-url --override bench/peers-overrides.in --output-file requirements-peers.lock bench/peers.in

clean:
	rm -rf $(VENV) $(PEERS) $(DPMM) demo-output dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
