.DEFAULT_GOAL := help
.PHONY: help demo test parts browser trino test-faults lint format docs lock sbom audit bench clean env

help: ## Show the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: ## Make or update .venv from requirements.lock
	@scripts/bootstrap.sh

demo: ## Start everything and put 3,000 log records into three Iceberg tables
	@./kafka-connect-iceberg-sink.sh demo

test: env ## Check the code and run the tests on the real parts, Trino and a schema registry too (700 MB once)
	@$(MAKE) --no-print-directory -j 2 browser trino
	@$(MAKE) --no-print-directory -j 2 parts lint

parts: env
	@.venv/bin/python scripts/test.py

browser: env
	@scripts/chromium.sh >/dev/null

trino: env
	@.venv/bin/python scripts/fetch_archives.py

test-faults: env ## Longer kills, outages, loads, pages and searches: what make test leaves out; take an hour
	@.venv/bin/pytest -m faults
	@HYPOTHESIS_PROFILE=thorough .venv/bin/pytest -m "hypothesis and not faults"

lint: env ## Format, lint, types, layers, dependencies
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports
	@.venv/bin/deptry src bench scripts

format: env ## Format the code
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix .

docs: env ## Make docs/reference/, .env.sample, dashboards and other files of deploy/ from the code, and the pages as a site with search
	@.venv/bin/python -m scripts.reference
	@.venv/bin/python scripts/dashboards.py
	@.venv/bin/python scripts/prometheus_rule.py
	@.venv/bin/python scripts/nginx_conf.py
	@.venv/bin/python scripts/chart.py
	@.venv/bin/zensical build --strict --clean

sbom: env ## Write what frazil is made of as an SPDX document, frazil.spdx.json
	@.venv/bin/python -m scripts.supply_chain frazil.spdx.json

audit: env ## Ask PyPI for known weaknesses of the wheels, and write docs/reference/weaknesses.md
	@.venv/bin/python -m scripts.audit

bench: env ## Compare with Kafka Connect on this machine
	@.venv/bin/python -m bench

lock: env ## Renew requirements.lock from pyproject.toml
	@.venv/bin/uv --system-certs pip compile -q --universal --python-version 3.11 --all-extras --group dev --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements.lock

clean: ## Remove the environment and caches of the tools
	rm -rf .venv site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
