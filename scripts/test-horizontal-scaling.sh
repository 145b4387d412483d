#!/usr/bin/env bash
# Tests scaling: a Spark standalone cluster on loopback grows worker by worker, and one is killed; -h has the options.
set -euo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/bootstrap.sh
exec .venv/bin/python -m scripts.horizontal_scaling "$@"
