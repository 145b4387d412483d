#!/usr/bin/env bash
# Every test but those with Trino (`make test-trino`), in two halves at once: those with a worker wait more than they
# compute. Arguments go to both.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/chromium.sh >/dev/null || exit 1  # once, before the tests of pages need it

log=$(mktemp)
.venv/bin/pytest -m spark "$@" >"$log" 2>&1 &
with_worker=$!
trap 'kill "$with_worker" 2>/dev/null; wait "$with_worker"; exit 130' INT TERM

.venv/bin/pytest -m "not spark and not trino" "$@"
others=$?
echo "waiting for the tests with a worker"
wait "$with_worker"
with_worker_code=$?
cat "$log"
rm -f "$log"
[ "$others" -eq 0 ] && [ "$with_worker_code" -eq 0 ]
