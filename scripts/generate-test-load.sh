#!/usr/bin/env bash
# Sends so many user events to a topic: scripts/generate-test-load.sh NUMBER [TOPIC]; the topic is user-events by default.
# One of a thousand is not valid by the schema of the example.
set -euo pipefail
here=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case ${1-} in
  '' | *[!0-9]*)
    echo "usage: scripts/generate-test-load.sh NUMBER [TOPIC]" >&2
    exit 2
    ;;
esac
"$here/scripts/bootstrap.sh"
"$here/.venv/bin/python" "$here/scripts/test_load.py" "$1" |
  "$here/kafka-connect-iceberg-sink.sh" produce "${2-user-events}" --values -
