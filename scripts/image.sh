#!/usr/bin/env bash
# image.sh FOLDER: builds deploy/Dockerfile without a container engine's service, and prints buildah's options for what
# is in FOLDER: the image frazil:0.1.0. Takes root on Debian, buildah and mmdebstrap, and some minutes. The base image is
# made of Debian's packages, and trusts what this machine trusts.
set -euo pipefail
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
folder="$1"
mkdir -p "$folder"

for program in buildah mmdebstrap crun; do
  if ! command -v "$program" >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends buildah mmdebstrap crun >&2
  fi
done

storage=(--root "$folder/storage" --runroot "$folder/run" --storage-driver overlay)
base=docker.io/library/debian:bookworm-slim
echo "the base image" >&2
mmdebstrap --quiet --variant=minbase --include=ca-certificates \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook='copy-in /usr/local/share/ca-certificates /usr/local/share/' \
  --customize-hook='chroot "$1" update-ca-certificates >/dev/null' \
  bookworm "$folder/base.tar" http://deb.debian.org/debian >&2
container="$(buildah "${storage[@]}" from scratch)"
buildah "${storage[@]}" add --quiet "$container" "$folder/base.tar" / >/dev/null
buildah "${storage[@]}" commit --quiet --rm "$container" "$base" >/dev/null
rm "$folder/base.tar"
echo "the image" >&2
buildah "${storage[@]}" build --isolation chroot --pull=never --format docker --tag frazil:0.1.0 \
  --file "$repository/deploy/Dockerfile" "$repository" >&2
echo "${storage[@]}"
