#!/usr/bin/env bash
# compose.sh NAME [VERB …]: the verbs of the start script for the containers of deploy/NAME.yaml. Those that are about no
# service run in a container of the image.
set -euo pipefail
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
name=$1
verb=${2:-start}
shift "$(($# > 1 ? 2 : 1))"
file=$here/deploy/$name.yaml
if [ ! -f "$file" ]; then
  echo "--with $name: there is no deploy/$name.yaml. Nothing was done; write compose, compose.dual or compose.s3." >&2
  exit 2
fi
if ! docker compose version >/dev/null 2>&1; then
  echo "docker compose is not here. Nothing was done. Install Docker with its plugin compose, or leave out" \
    "\`--with $name\`: the same parts run without containers." >&2
  exit 1
fi
options=(-f "$file")
env_file=${FRAZIL_ENV_FILE:-.env}
[ -f "$env_file" ] || env_file=$here/.env
[ ! -f "$env_file" ] || options+=(--env-file "$env_file")
compose() { docker compose "${options[@]}" "$@"; }
service=kafka-iceberg-init
[ "$name" != compose.s3 ] || service=kafka-s3-verbs
frazil() { compose run --rm --no-deps "$service" "$@"; }

case $verb in
  start) compose up --detach --build "$@" ;;
  stop | restart | logs) compose "$verb" "$@" ;;
  status)
    compose ps --all
    frazil status "$@"
    ;;
  clean)
    if [ "${1:-}" != --yes ] && [ "${1:-}" != -y ]; then
      read -r -p "Remove the containers of deploy/$name.yaml and all their data? [y/N] " answer || answer=
      if [ "$answer" != y ]; then
        echo "Nothing was removed."
        exit
      fi
    fi
    compose --profile '*' down --volumes --remove-orphans
    ;;
  *) frazil "$verb" "$@" ;;
esac
