#!/usr/bin/env bash
# Compares the topics of all sinks with what is stored of them; arguments are those of the verb `verify`.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../kafka-connect-iceberg-sink.sh" verify "$@"
