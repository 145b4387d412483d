#!/usr/bin/env bash
# debian.sh PROGRAM PACKAGE: prints the path of a program. Where none is installed, Debian's package is fetched and
# unpacked in the cache, which takes apt and no root.
set -euo pipefail
program="$1" package="$2"

PATH="$PATH:/usr/sbin" command -v "$program" && exit 0
caches="${FRAZIL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/frazil}/debian"
folder="$caches/$package"
if [ ! -d "$folder" ]; then
  if ! command -v apt-get >/dev/null; then
    echo "there is no $program here, and no apt to fetch it; install $package" >&2
    exit 1
  fi
  mkdir -p "$caches"
  new="$(mktemp -d "$caches/.$package.XXXXXX")"
  trap 'rm -rf "$new"' EXIT
  mkdir -p "$new/apt/lists/partial" "$new/apt/archives/partial" "$new/unpacked"
  cd "$new"
  own=(-qq -o "Dir::State::Lists=$new/apt/lists" -o "Dir::Cache=$new/apt" -o "APT::Sandbox::User=$(id -un)")
  apt-get "${own[@]}" update >&2
  apt-get "${own[@]}" download "$package" >&2
  dpkg-deb -x ./*.deb unpacked
  mv -T unpacked "$folder" 2>/dev/null || [ -d "$folder" ]  # another one may have been faster
fi
find "$folder" -path "*bin/$program" -print -quit | grep . || { echo "$package has no $program" >&2; exit 1; }
