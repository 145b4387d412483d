#!/usr/bin/env bash
# Prints the path of a kubectl for the tests of manifests; root on Debian or Ubuntu gets the distribution's package.
set -euo pipefail

command -v kubectl && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null
  apt-get install -qq -y --no-install-recommends kubernetes-client >/dev/null
  command -v kubectl && exit 0
fi
echo "the tests of manifests need kubectl and there is none; install it" >&2
exit 1
