#!/usr/bin/env bash
# Prints the folder of the npm packages of the tests, such as public payloads; npm fetches them once, as the lock file says.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../tests/corpora"

caches="${FRAZIL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/frazil}/corpora"
version="$(sha256sum package-lock.json | cut -c1-16)"
folder="$caches/$version"
if [ ! -d "$folder" ]; then
  if ! command -v npm >/dev/null; then
    echo "the tests of public payloads need npm, and there is none; install Node" >&2
    exit 1
  fi
  mkdir -p "$caches"
  new="$(mktemp -d "$caches/.$version.XXXXXX")"
  trap 'rm -rf "$new"' EXIT
  cp package.json package-lock.json "$new"
  npm ci --prefix "$new" --ignore-scripts --no-audit --no-fund >&2
  mv -T "$new" "$folder" 2>/dev/null || [ -d "$folder" ]  # another one may have been faster
fi
echo "$folder/node_modules"
