#!/usr/bin/env bash
# Prints the path of a Chromium for the tests of pages; root on Debian or Ubuntu gets the distribution's package.
set -euo pipefail

find_chromium() {
  for candidate in "${CHROMIUM:-}" chromium chromium-browser google-chrome google-chrome-stable; do
    if [ -n "$candidate" ] && command -v "$candidate"; then return 0; fi
  done
  return 1
}

find_chromium && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  echo "installing Chromium, about 100 MB" >&2
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null
  apt-get install -qq -y --no-install-recommends chromium >/dev/null
  find_chromium && exit 0
fi
echo "the tests of pages need Chromium and there is none; install the package chromium, or set CHROMIUM to its path" >&2
exit 1
