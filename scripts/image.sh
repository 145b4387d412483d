#!/usr/bin/env bash
# image.sh FOLDER [TAG]: builds deploy/Dockerfile without a container engine's service, and prints buildah's options for
# what is in FOLDER: the image frazil:0.1.0. Takes root on Debian, buildah and mmdebstrap, and some minutes. The base image
# is made of Debian's packages once, and trusts what this machine trusts. All files have the time of the last commit.
set -euo pipefail
repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
folder="$1" tag="${2:-frazil:0.1.0}"
mkdir -p "$folder"

for program in buildah mmdebstrap crun; do
  if ! command -v "$program" >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends buildah mmdebstrap crun >&2
  fi
done

storage=(--root "$folder/storage" --runroot "$folder/run" --storage-driver overlay)
base=docker.io/library/debian:bookworm-slim
if ! buildah "${storage[@]}" inspect --type image "$base" >/dev/null 2>&1; then
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
fi
echo "the image" >&2
epoch="$(git -C "$repository" log -1 --format=%ct)"
buildah "${storage[@]}" build --isolation chroot --pull=never --format docker --tag "$tag" \
  --timestamp "$epoch" --build-arg "SOURCE_DATE_EPOCH=$epoch" --file "$repository/deploy/Dockerfile" "$repository" >&2
echo "${storage[@]}"
