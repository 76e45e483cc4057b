# The commands of the project. Each sets up .venv first when it is not there
# or older than setup.py, and otherwise does just its own work.

# ---------------------------------------------------------------- settings
VENV      ?= .venv
EXTRAS    ?= dev,box2d,video
GIN_FILE  ?= gin_configs/mountain_car.gin
SEED      ?=
# One folder for each experiment and seed: a run goes on from what lies there.
ROOT_DIR  ?= runs/$(basename $(notdir $(GIN_FILE)))/seed_$(or $(SEED),0)
# More flags of train_eval, such as --gin_bindings='a.b=1'.
TRAIN_ARGS ?=
# Versions in place of the newest that setup.py admits, such as
# PINS=gymnasium==1.1.0; with a VENV of their own.
PINS      ?=
# What to test, and with how many processes (0: in this one). Each takes 2 GB.
TESTS     ?= tests
TEST_JOBS ?= $(shell cores=$$(nproc); echo $$((cores < 4 ? cores : 4)))
OLDEST_PYTHON ?= python3.10
NEWEST_PYTHON ?= python3.13
# Its TensorFlow is that of Python 3.11: what Python itself changes.
NEWEST_TESTS ?= tests/*_test.py tests/docs tests/environments tests/evaluation \
  tests/examples tests/serving tests/train tests/training
PYTEST_ARGS ?=

# TensorFlow's C++ side speaks of CUDA factories and CPU flags at each start;
# what goes wrong reaches Python as an exception.
export TF_CPP_MIN_LOG_LEVEL ?= 3
export PIP_DISABLE_PIP_VERSION_CHECK ?= 1
# Where it is set, each process compiles all of TensorFlow, which takes twice as
# long as the rest of its start.
unexport PYTHONDONTWRITEBYTECODE

BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed-$(EXTRAS)

.PHONY: help setup train test test-oldest test-newest docs lint clean
.DEFAULT_GOAL := help

help:  ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' \
	  $(MAKEFILE_LIST)

# ------------------------------------------------------------------ set-up
# PYTHON= names one Python, which pyenv may have off PATH. Else the first of
# these that runs (a name on PATH may be an empty shim).
PYTHONS := $(if $(PYTHON),$(PYTHON) \
  $(wildcard $(HOME)/.pyenv/versions/*/bin/$(PYTHON)),\
  python3.13 python3.12 python3.11 python3.10)
define find_python
for candidate in $(PYTHONS); do \
  if $$candidate -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 15))' \
     2>/dev/null; then python=$$candidate; break; fi; \
done; \
if [ -z "$$python" ]; then \
  echo 'rnd_agents needs Python 3.10, 3.11, 3.12 or 3.13 (3.14 by name), and' \
    '$(or $(PYTHON),none of $(strip $(PYTHONS)))' \
    '$(if $(PYTHON),is not one of these or does not run,runs): install one of them (on Debian:' \
    'apt-get install python3-venv) so that it is on PATH, or say where it is:' \
    'make PYTHON=/path/to/python3.13.' >&2; \
  exit 1; \
fi
endef

$(BIN)/pip:
	@$(find_python); \
	echo "Making $(VENV) with $$($$python --version)."; \
	if $$python -c 'import ensurepip' 2>/dev/null; then \
	  $$python -m venv $(VENV); \
	else \
	  $$python -m venv --without-pip $(VENV) && \
	    $$python -m pip --python $(BIN)/python install --quiet pip; \
	fi  # Debian without python3-venv has only a pip outside.
	@# Python 3.10's own pip searches for hours for versions that suit.
	@$(BIN)/python -m pip install --quiet --upgrade pip

# Editable, so that what runs is what lies here. tf-agents by itself: from
# Python 3.11 on, the versions that it asks for cannot be had; before, it is
# there already and this changes nothing.
$(STAMP): setup.py rnd_agents/version.py | $(BIN)/pip
	@echo "Installing rnd_agents[$(EXTRAS)] into $(VENV) (some minutes)."
	@# pip names each package that it looks for; its errors come as they are.
	@rm -f $(VENV)/.status; \
	{ $(BIN)/python -m pip install --progress-bar off \
	  --editable '.[$(EXTRAS)]' $(PINS); echo $$? > $(VENV)/.status; } \
	  | sed -nu -e 's/^Collecting \([^ ]*\).*/  \1/p' \
	    -e 's/^Installing collected packages.*/  installing/p'; \
	  status=$$(cat $(VENV)/.status); exit $${status:-1}
	@$(BIN)/python -m pip install --quiet --no-deps tf-agents==0.19.0
	@# On 3.14, experimental: it refuses the TensorFlow there is, and works.
	@! $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 14))' || \
	  $(BIN)/python -m pip install --quiet --no-deps tf-keras==2.21.0
	@touch $@

setup: $(STAMP)  ## Make .venv and install the package into it.

# ---------------------------------------------------------------- commands
train: $(STAMP)  ## Train: GIN_FILE= ROOT_DIR= SEED= TRAIN_ARGS= to change it.
	$(BIN)/python -m train.train_eval --gin_file=$(GIN_FILE) \
	  --root_dir=$(ROOT_DIR) $(if $(SEED),--seed=$(SEED)) $(TRAIN_ARGS)

test: $(STAMP)  ## Run the tests: TESTS= TEST_JOBS= PYTEST_ARGS= to change it.
	$(BIN)/python -m pytest $(TESTS) -n $(TEST_JOBS) --dist worksteal \
	  $(PYTEST_ARGS)

test-oldest:  ## Run the most telling tests with Python 3.10, in its own .venv.
	$(MAKE) test VENV=.venv-oldest PYTHON=$(OLDEST_PYTHON) \
	  PINS=gymnasium==1.1.0 \
	  EXTRAS=dev,box2d,minigrid,atari,mujoco,reverb,video,report \
	  PYTEST_ARGS='-m versions $(PYTEST_ARGS)'

test-newest:  ## Run the most telling tests with Python 3.13, in its own .venv.
	$(MAKE) test VENV=.venv-newest PYTHON=$(NEWEST_PYTHON) \
	  TESTS='$(NEWEST_TESTS)' \
	  EXTRAS=dev,box2d,minigrid,atari,mujoco,video,report \
	  PYTEST_ARGS='-m versions $(PYTEST_ARGS)'

docs:  ## Build the docs site into build/site; a broken link is an error.
	@$(MAKE) --no-print-directory setup EXTRAS=$(EXTRAS),docs
	$(BIN)/python docs/stage.py build/docs
	$(BIN)/zensical build --clean --strict

lint: $(STAMP)  ## Check the style and the types of the code.
	$(BIN)/ruff check .
	$(BIN)/mypy

clean:  ## Remove caches and builds; .venv and runs/ stay.
	rm -rf build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find . -path './.venv*' -prune -o -name __pycache__ -type d -print0 \
	  | xargs -0 rm -rf
