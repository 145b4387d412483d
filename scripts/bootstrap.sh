#!/usr/bin/env bash
# Makes .venv from requirements.lock; does nothing when it is up to date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

stamp=.venv/lock.sha256
want=$(cat requirements.lock pyproject.toml | sha256sum | cut -d' ' -f1)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && exit 0

python=""
for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
  if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  echo "frazil: Python 3.11, 3.12 or 3.13 is needed and none was found. Install one, or set PYTHON to its path." >&2
  exit 1
fi

echo "frazil: making the Python environment in .venv (about a minute the first time)" >&2
if ! [ -x .venv/bin/python ] && ! "$python" -m venv .venv; then
  rm -rf .venv
  echo "frazil: '$python -m venv' failed; on Debian and Ubuntu install python3-venv." >&2
  exit 1
fi
uv=$(grep -oE '^uv==[0-9.]+' requirements.lock)
.venv/bin/python -m pip install --quiet --disable-pip-version-check "$uv"
.venv/bin/uv --system-certs pip sync --quiet --python .venv/bin/python --require-hashes --no-progress requirements.lock
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
echo "$want" >"$stamp"
