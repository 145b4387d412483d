#!/usr/bin/env bash
# The seeds' script: makes the environment where it is missing and hands over to `frazil`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/scripts/bootstrap.sh"
[ $# -gt 0 ] || set -- start
FRAZIL_PROGRAM=$(basename "$0") exec "$here/.venv/bin/frazil" "$@"
