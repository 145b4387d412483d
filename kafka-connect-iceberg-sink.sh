#!/usr/bin/env bash
# Makes the environment where it is missing and hands over to `frazil`; `--with compose VERB` to Docker Compose.
set -euo pipefail
source=${BASH_SOURCE[0]}
while [ -L "$source" ]; do
  folder=$(cd -P "$(dirname "$source")" && pwd)
  source=$(readlink "$source")
  [[ $source == /* ]] || source=$folder/$source
done
here=$(cd -P "$(dirname "$source")" && pwd)
if [ "${1:-}" = --with ] && [ $# -gt 1 ]; then
  shift
  exec "$here/scripts/compose.sh" "$@"
fi
"$here/scripts/bootstrap.sh"

# Called from another folder it is still about the stack of this one, and never about one above it.
if [ -z "${FRAZIL_ENV_FILE:-}" ] && [ ! -e .env ] && [ -e "$here/.env" ]; then
  export FRAZIL_ENV_FILE=$here/.env
fi
env_file=${FRAZIL_ENV_FILE:-.env}
if [ -z "${FRAZIL_HOME:-}" ] && ! grep -qsE '^[[:space:]]*(export[[:space:]]+)?FRAZIL_HOME=' "$env_file"; then
  export FRAZIL_HOME=$here/.frazil
fi

[ $# -gt 0 ] || set -- start
FRAZIL_PROGRAM=$0 exec "$here/.venv/bin/frazil" "$@"
