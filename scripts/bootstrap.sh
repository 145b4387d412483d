#!/usr/bin/env bash
# Makes .venv from requirements.lock; does nothing when it is up to date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What the environment was made from, kept inside it.
inputs=(requirements.lock pyproject.toml)
made=.venv/made-from
current() { for input in "${inputs[@]}"; do cmp -s "$input" "$made/$input" || return 1; done; }
current && exit 0

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

step() { echo "frazil: $1" >&2; }
step "making the Python environment in .venv (about a minute the first time)"
rm -rf "$made"
if ! [ -x .venv/bin/python ] && ! "$python" -m venv .venv; then
  rm -rf .venv
  echo "frazil: '$python -m venv' failed; on Debian and Ubuntu install python3-venv." >&2
  exit 1
fi
trap 'echo "frazil: the environment is not complete; the next call goes on with it. The lines above say why; PIP_INDEX_URL, UV_INDEX_URL and SSL_CERT_FILE are respected." >&2' ERR
step "  1/3 the installer"
.venv/bin/python -m pip install --quiet --disable-pip-version-check "$(grep -oE '^uv==[0-9.]+' requirements.lock)"
step "  2/3 the packages of requirements.lock"
# Compiled once here: a program that cannot write beside them would compile them anew at each start.
.venv/bin/uv --system-certs pip sync --quiet --python .venv/bin/python --require-hashes --no-progress --compile-bytecode requirements.lock
step "  3/3 frazil itself"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
mkdir "$made"
cp "${inputs[@]}" "$made"
step "the environment is made, in $SECONDS s"
