#!/usr/bin/env bash
# Every test, in two halves at once: those with a worker wait more than they compute. Arguments go to both.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/chromium.sh >/dev/null || exit 1  # once, before the tests of pages need it

# Trino is a download of 540 MB, once. Where it cannot be had in five minutes its tests are left out, and that is said.
others_are="not spark"
if ! timeout -s INT 300 .venv/bin/python scripts/fetch_trino.py; then
  others_are="not spark and not trino"
fi

log=$(mktemp)
.venv/bin/pytest -m spark "$@" >"$log" 2>&1 &
with_worker=$!
trap 'kill "$with_worker" 2>/dev/null; wait "$with_worker"; exit 130' INT TERM

.venv/bin/pytest -m "$others_are" "$@"
others=$?
echo "waiting for the tests with a worker"
wait "$with_worker"
with_worker_code=$?
cat "$log"
rm -f "$log"
[ "$others_are" = "not spark" ] || echo "NOT RUN: the tests marked trino, because Trino could not be downloaded (see the top)"
[ "$others" -eq 0 ] && [ "$with_worker_code" -eq 0 ]
