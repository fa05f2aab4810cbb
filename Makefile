# make          the command line, in .venv/bin/traindx
# make demo     set up and diagnose three embedded runs: a recorded script with mistakes, a sick log, a healthy one
# make test     set up and run the tests
# make test-frameworks   the tests of callbacks with JAX, optax and Hugging Face Transformers installed as well (750 MB more)
# make test-torch        the recorder's manners under several versions of torch
# make lint     ruff, mypy --strict and the layers
# make docs     write the catalogue's pages into docs/ and the skill for agents
# make site     the docs as web pages, in build/site
# make clean    remove everything that was made

VENV := .venv
export PYTHON
PYTHON_IN := $(VENV)/bin/python
PIP := $(PYTHON_IN) -m pip --disable-pip-version-check --quiet

.PHONY: setup dev demo test test-frameworks test-torch lint docs site clean

setup: $(VENV)/.installed

dev: $(VENV)/.installed-dev

$(PYTHON_IN):
	@found=$$(sh .ci/find-python) && echo "creating $(VENV) with $$found" && $$found -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(PYTHON_IN)
	@echo "installing traindx into $(VENV)"
	@$(PIP) install --editable '.[fix]'
	@touch $@

# --group needs pip 25.1; a fresh environment may carry an older one
$(VENV)/.installed-dev: pyproject.toml | $(PYTHON_IN)
	@echo "installing traindx and what its tests need into $(VENV)"
	@$(PIP) install --upgrade 'pip>=25.1'
	@$(PIP) install --editable '.[png]' --group dev
	@touch $@ $(VENV)/.installed

demo: setup
	@echo '$$ traindx diagnose examples/mistake/train.traindx      (what traindx run examples/mistake/train.py recorded)'
	@$(VENV)/bin/traindx diagnose examples/mistake/train.traindx || test $$? -eq 1
	@echo
	@echo '$$ traindx diagnose examples/sick'
	@$(VENV)/bin/traindx diagnose examples/sick || test $$? -eq 1
	@echo
	@echo '$$ traindx diagnose examples/healthy'
	@$(VENV)/bin/traindx diagnose examples/healthy || test $$? -eq 1

# one file of tests a core at a time; small trainings gain nothing from more threads
test: dev
	@OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(PYTHON_IN) -m pytest -n logical --maxprocesses 4 --dist loadfile

test-frameworks: dev
	@$(PIP) install --group frameworks
	@$(PYTHON_IN) -m pytest tests/live/integrations tests/checkpoints

test-torch: dev
	@$(PYTHON_IN) .ci/torch-minors

lint: dev
	@$(PYTHON_IN) -m ruff check
	@$(PYTHON_IN) -m mypy
	@$(VENV)/bin/lint-imports

docs: setup
	@$(PYTHON_IN) -m traindx.reporters.pages docs
	@$(PYTHON_IN) -m traindx.reporters.skill skills/traindx
	@$(PYTHON_IN) -m traindx.reporters.api docs
	@$(PYTHON_IN) -m traindx.reporters.recording docs

site: dev docs
	@$(PYTHON_IN) -m mkdocs build --strict --quiet
	@echo 'build/site/index.html'

clean:
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
