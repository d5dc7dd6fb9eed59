# Everything a newcomer types; `make` alone lists it. Needs Python 3.11 or newer with pip, and make.
.DEFAULT_GOAL := help
.PHONY: help demo test check bench wheel docs clean

CORES ?= $(shell nproc 2>/dev/null || echo 2)
BIN := .venv/bin
READY := .venv/.ready

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## Collect, archive, index and search the bundled test web (CI=1: check the result and end)
	@$(BIN)/python -m scripts.demo $(if $(CI),--check)

test: $(READY) ## Run the whole suite
	@scripts/system-packages.sh
	@scripts/reader-tools.sh
	@$(BIN)/pytest -n $(CORES) --dist worksteal

check: $(READY) ## Format, lint, types, floors and the fast tests, in under two minutes
	@CORES=$(CORES) scripts/check.sh

bench: $(READY) ## Measure; fail when a floor is broken (ONLY=name: one of bench/*.py)
	@PYTHONPATH=$$($(BIN)/python -m scripts.core) $(BIN)/python -m bench.run $(if $(ONLY),--only $(ONLY))

wheel: $(READY) ## Make a wheel with a compiled core, for machines like this one, in dist/
	@JORO_CORE=$$($(BIN)/python -m scripts.core) HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 \
		$(BIN)/pip wheel -q --disable-pip-version-check --no-deps --wheel-dir dist .

docs: $(READY) ## Write docs/reference/ again from the settings and commands
	@$(BIN)/python -m scripts.reference

clean: ## Remove everything that these targets made
	@rm -rf .venv .peers .core demo build dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis bench/latest.json
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Made once; made up to date when the dependencies may have changed.
$(READY): pyproject.toml scripts/setup.sh
	@scripts/setup.sh
	@touch $@
