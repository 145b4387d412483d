"""Renews the lock files of the jar sets: `python -m frazil.stack.lock [SET…]` after a change of `versions.py`.

Resolves each set's roots with their dependencies and writes what came out, with checksums, to `locks/<set>.txt`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from frazil.config.settings import Settings
from frazil.errors import UsageError
from frazil.stack.ivy import retrieve
from frazil.stack.jars import LOCKS, sha256
from frazil.stack.java import find_java
from frazil.stack.versions import (
    ICEBERG,
    ICEBERG_PARQUET,
    KAFKA,
    LOG4J,
    SLF4J,
    SPARK,
    SPARK_COMMONS_POOL,
    SPARK_KAFKA_CLIENTS,
)

# Set → (roots, whether their dependencies belong to it). Spark's own jars are PySpark's, so nothing else is wanted
# beside its Kafka source. kafka_2.13 does not name all it needs, and brings an slf4j that logs nothing
# (spark-and-stack.md 1.3, item 8), hence the explicit roots.
ROOTS: dict[str, tuple[tuple[str, ...], bool]] = {
    "kafka": (
        (
            f"org.apache.kafka:kafka_2.13:{KAFKA}",
            f"org.apache.kafka:kafka-server:{KAFKA}",
            f"org.apache.kafka:kafka-tools:{KAFKA}",
            f"org.apache.kafka:connect-runtime:{KAFKA}",
            f"org.apache.kafka:connect-json:{KAFKA}",
            f"org.apache.kafka:connect-transforms:{KAFKA}",
            f"org.apache.logging.log4j:log4j-slf4j2-impl:{LOG4J}",
            f"org.apache.logging.log4j:log4j-api:{LOG4J}",
            f"org.apache.logging.log4j:log4j-core:{LOG4J}",
            f"org.slf4j:slf4j-api:{SLF4J}",
        ),
        True,
    ),
    "spark-kafka": (
        (
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK}",
            f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{SPARK}",
            f"org.apache.kafka:kafka-clients:{SPARK_KAFKA_CLIENTS}",
            f"org.apache.commons:commons-pool2:{SPARK_COMMONS_POOL}",
        ),
        False,
    ),
    "iceberg-connect": (
        (
            *(
                f"org.apache.iceberg:iceberg-{part}:{ICEBERG}"
                for part in ("kafka-connect", "kafka-connect-events", "core", "data", "parquet", "aws", "aws-bundle")
            ),
            f"org.apache.parquet:parquet-hadoop:{ICEBERG_PARQUET}",
            f"org.slf4j:slf4j-api:{SLF4J}",
        ),
        True,
    ),
}


def renew(name: str, settings: Settings) -> Path:
    """Resolve one set's roots and write its lock file; returns that file."""
    roots, transitive = ROOTS[name]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        user_settings = settings.env.get("FRAZIL_IVY_SETTINGS")
        retrieve(
            find_java(settings.env),
            roots,
            target,
            settings.cache / "ivy-lock",
            Path(user_settings) if user_settings else None,
            lambda text: print(text, file=sys.stderr),
            settings.env,
            transitive=transitive,
            layout="[organisation]/[module]/[revision]/",
        )
        lines = sorted(f"{_coordinate(jar.relative_to(target))} {sha256(jar)}" for jar in target.rglob("*.jar"))
    path = LOCKS / f"{name}.txt"
    path.write_text("# Written by `python -m frazil.stack.lock`.\n" + "\n".join(lines) + "\n")
    return path


def _coordinate(jar: Path) -> str:
    """Coordinate of a jar in Ivy's layout `<org>/<name>/<version>/<name>-<version>[-<classifier>].jar`."""
    organisation, name, version, _ = jar.parts
    classifier = jar.stem.removeprefix(f"{name}-{version}").removeprefix("-")
    return ":".join(filter(None, (organisation, name, version, classifier)))


def main(names: list[str]) -> None:
    """Renew the named sets, or all of them. Raises UsageError for an unknown name."""
    for name in names:
        if name not in ROOTS:
            raise UsageError(f"unknown jar set {name}; known: {', '.join(ROOTS)}")
    settings = Settings.load(os.environ)
    for name in names or ROOTS:
        print(renew(name, settings))


if __name__ == "__main__":
    main(sys.argv[1:])
