"""Settings of the parts of the stack, from the environment variables that `variables` declares."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from frazil.declare.placeholders import has_placeholder
from frazil.declare.providers import ConfigProviders
from frazil.environment.access import ConnectAccess
from frazil.environment.bootstrap import Bootstrap, kafka_security
from frazil.environment.home import nearest_home
from frazil.environment.listeners import Listener, parse_listeners
from frazil.environment.paths import expanded
from frazil.environment.urls import check_url
from frazil.environment.variables import VARIABLES
from frazil.errors import ConfigError
from frazil.text.lists import listed
from frazil.text.near import nearest


@dataclass(frozen=True)
class TopicDefaults:
    """Defaults of entries: place of the objects, records per object, seconds per object."""

    bucket: str
    region: str
    endpoint: str
    batch_size: int
    flush_interval_s: int


LOOPBACK = "127.0.0.1"
DUAL_DEST_PORT = 9010
"""Port of S3 of the destination's store, where 9000 is that of the source's."""
_NEAR = 0.8
_MAX_COUNT = 1_000_000_000
_ESCAPES = {"___": "-", "__": "_", "_": "."}


def _port(name: str) -> cached_property[int]:
    return cached_property(lambda settings: settings.port(name))


def _text(name: str) -> cached_property[str]:
    return cached_property(lambda settings: settings.text(name))


def _file(name: str) -> cached_property[Path | None]:
    return cached_property(lambda settings: settings.file(name))


def _is_set(name: str) -> cached_property[bool]:
    return cached_property(lambda settings: bool(settings.given(name)))


@dataclass(frozen=True)
class Settings:
    """Addresses, names and credentials, resolved once from the environment and passed to whoever needs them.

    A part whose address is given (`KAFKA_BOOTSTRAP_SERVERS`, `MINIO_ENDPOINT`, `KAFKA_CONNECT_URL`, `TRINO_URL`,
    `SCHEMA_REGISTRY_URL`, `AWS_RDS_ENDPOINT`) is somebody else's: it is used, and never started or stopped.
    """

    env: Mapping[str, str]
    remarks: tuple[str, ...] = ()
    """Texts about lines of the file of variables that change nothing."""

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, env_file: Path | None = None) -> Settings:
        """Read the process environment over the `.env` file of the working directory, or, if there is none and no
        FRAZIL_HOME, over that beside the home (the environment wins).

        Raises ConfigError when a value cannot be used, when the file is not UTF-8 text, or when `FRAZIL_ENV_FILE` names
        a file that does not exist.
        """
        environ = os.environ if environ is None else environ
        named = environ.get("FRAZIL_ENV_FILE", "").strip()
        path = env_file or expanded("FRAZIL_ENV_FILE", named or VARIABLES["FRAZIL_ENV_FILE"].default)
        beside = not (env_file or named or path.exists() or environ.get("FRAZIL_HOME", "").strip())
        if beside:
            path = cls(environ).home.with_name(path.name)
        if named and not path.exists():
            raise ConfigError(f"FRAZIL_ENV_FILE={named}: there is no such file; correct the path or unset the variable")
        if path.is_dir():
            raise ConfigError(f"{path} is a folder and no file with variables; remove it, or set FRAZIL_ENV_FILE")
        try:
            from_file = {k: v for k, v in dotenv_values(path, interpolate=False).items() if v is not None}
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start}); correct it") from None
        if beside and from_file.get("FRAZIL_HOME", "").strip():
            from_file["FRAZIL_HOME"] = str(path.parent / expanded("FRAZIL_HOME", from_file["FRAZIL_HOME"].strip()))
        settings = cls({**from_file, **environ}, _remarks(path, from_file))
        settings.check()
        return settings

    def check(self) -> None:
        """Raise ConfigError for the first value that cannot be used."""
        for variable in VARIABLES.values():
            text = self.given(variable.name)
            if not text:
                continue
            if variable.kind == "port":
                self.port(variable.name)
            elif variable.kind == "switch":
                self._switch(variable.name)
            elif variable.kind == "url":
                check_url(variable.name, text)
        if not self.kafka_external and self.kafka_security:
            raise ConfigError(
                f"{next(iter(self.kafka_security))} is set by a KAFKA_… variable, but KAFKA_BOOTSTRAP_SERVERS is not: "
                "the embedded broker listens on loopback and asks for nothing. Set the address of your cluster, or "
                "unset the others."
            )

    def given(self, name: str) -> str:
        """Text that a variable is set to; empty when it is unset or blank."""
        return self.env.get(name, "").strip()

    def _source(self, name: str) -> str:
        """The variable that counts: this one, or its fallback when only that is set."""
        fallback = VARIABLES[name].fallback
        return fallback if fallback and self.given(fallback) and not self.given(name) else name

    def text(self, name: str, derived: str = "") -> str:
        """Text of a variable, else its default; `derived` is a default that depends on other variables."""
        variable = VARIABLES[name]
        return self.given(self._source(name)) or (derived if variable.derived else variable.default)

    def port(self, name: str) -> int:
        """Number of a port. Raises ConfigError."""
        text = self.text(name)
        # int() also reads 9_000 and the digits of other scripts, which no other program takes for a port.
        if not (text.isascii() and text.isdigit()):
            raise ConfigError(f"{self._source(name)}={text}: expected a port number")
        if len(text) > len("65535") or not 0 < int(text) < 65536:
            raise ConfigError(f"{self._source(name)}={text}: expected a port between 1 and 65535")
        return int(text)

    def _count(self, name: str) -> int:
        text = self.text(name)
        if not (text.isascii() and text.isdigit() and 0 < int(text) <= _MAX_COUNT):
            raise ConfigError(f"{name}={text}: expected a whole number between 1 and {_MAX_COUNT:,}")
        return int(text)

    def file(self, name: str) -> Path | None:
        """Path of a file; None when the variable is unset. Raises ConfigError."""
        text = self.text(name)
        return expanded(name, text) if text else None

    def _switch(self, name: str) -> bool:
        text = self.text(name).lower()
        if text not in ("true", "false"):
            raise ConfigError(f"{name}={text}: expected true or false")
        return text == "true"

    @cached_property
    def home(self) -> Path:
        """Data, logs and process files of the embedded stack (`FRAZIL_HOME`)."""
        text = self.text("FRAZIL_HOME")
        return (expanded("FRAZIL_HOME", text) if text else nearest_home(Path.cwd(), self._user)).resolve()

    @property
    def _user(self) -> Path:
        return Path(self.given("HOME") or "/")

    @cached_property
    def cache(self) -> Path:
        """Downloads that outlive a home (`FRAZIL_CACHE`)."""
        caches = self.text("XDG_CACHE_HOME", derived=str(self._user / ".cache"))
        return expanded("FRAZIL_CACHE", self.text("FRAZIL_CACHE", derived=f"{caches}/frazil"))

    @cached_property
    def log_json(self) -> bool:
        """Whether the worker logs JSON (`FRAZIL_LOG_JSON`)."""
        return self._switch("FRAZIL_LOG_JSON")

    @cached_property
    def start_timeout(self) -> int:
        """Seconds that a service may be silent while it starts (`FRAZIL_START_TIMEOUT`)."""
        return self._count("FRAZIL_START_TIMEOUT")

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    # Kafka
    kafka_port = _port("KAFKA_EXTERNAL_PORT")
    kafka_controller_port = _port("KAFKA_CONTROLLER_PORT")
    kafka_external = _is_set("KAFKA_BOOTSTRAP_SERVERS")

    @cached_property
    def bootstrap_servers(self) -> Bootstrap:
        """Addresses of the cluster, with what its clients need to be let in. Raises ConfigError when a value of that
        stands in a place that cannot be read."""
        servers = self.text("KAFKA_BOOTSTRAP_SERVERS", derived=f"{LOOPBACK}:{self.kafka_port}")
        found: Mapping[str, str] = {**self.kafka_security, **self.worker_properties}
        if any(map(has_placeholder, found.values())):
            found = self.providers().resolve(found).config
        return Bootstrap.of(servers, found, embedded=not self.kafka_external)

    @cached_property
    def kafka_security(self) -> dict[str, str]:
        """Settings of Kafka's clients from the variables `KAFKA_SECURITY_…`, `KAFKA_SASL_…` and `KAFKA_SSL_…`."""
        return kafka_security(self.env)

    @property
    def worker_properties(self) -> dict[str, str]:
        """The worker's keys from variables `CONNECT_…`, as container images have them: `CONNECT_GROUP_ID` is
        `group.id`; two underscores are one, three are a hyphen."""
        return {
            self.key_of(name): self.env[name] for name in self.env if name.startswith("CONNECT_") and self.given(name)
        }

    @staticmethod
    def key_of(variable: str) -> str:
        """The worker's key that a variable `CONNECT_…` stands for."""
        return re.sub("_{1,3}", lambda found: _ESCAPES[found[0]], variable.removeprefix("CONNECT_").lower())

    # Object store and catalog
    @cached_property
    def dual(self) -> bool:
        """Whether the home has two embedded stores, of a source and a destination."""
        return self.dual_file.exists()

    @property
    def dual_file(self) -> Path:
        """File that makes it so: the ports between their parts."""
        return self.home / "conf" / "dual.json"

    @property
    def store_service(self) -> str:
        """Name of the embedded service that answers for store and catalog."""
        return "nginx-dest" if self.dual else "seaweedfs"

    source_port = _port("SOURCE_API_PORT")

    @cached_property
    def s3_port(self) -> int:
        """Port of S3 of the embedded store; of the destination's where there are two."""
        if self.dual and not self.given("DEST_API_PORT"):
            return DUAL_DEST_PORT
        return self.port("DEST_API_PORT")

    s3_external = _is_set("MINIO_ENDPOINT")

    @cached_property
    def s3_endpoint(self) -> str:
        return self.text("MINIO_ENDPOINT", derived=f"http://{LOOPBACK}:{self.s3_port}").rstrip("/")

    access_key = _text("MINIO_ACCESS_KEY")
    secret_key = _text("MINIO_SECRET_KEY")
    region = _text("AWS_REGION")
    catalog_port = _port("ICEBERG_CATALOG_PORT")

    @cached_property
    def catalog_uri(self) -> str:
        """An AIStor endpoint serves its catalog under `/_iceberg`; the embedded store on a port of its own."""
        own = f"{self.s3_endpoint}/_iceberg" if self.s3_external else f"http://{LOOPBACK}:{self.catalog_port}"
        return self.text("ICEBERG_CATALOG_URI", derived=own).rstrip("/")

    @property
    def has_catalog(self) -> bool:
        """Whether a catalog is named, or the home has a store with its own."""
        named = self.s3_external or bool(self.given("ICEBERG_CATALOG_URI"))
        return named or self.dual or (self.home / "data" / "seaweedfs").is_dir()

    warehouse = _text("WAREHOUSE_NAME")
    namespace = _text("NAMESPACE_NAME")

    # Topics
    @cached_property
    def topics(self) -> dict[str, str]:
        """Topic name by log kind: `api`, `error`, `audit`."""
        return {
            "api": self.text("API_LOGS_TOPIC"),
            "error": self.text("ERROR_LOGS_TOPIC"),
            "audit": self.text("AUDIT_LOGS_TOPIC"),
        }

    @property
    def control_topic(self) -> str:
        return "control-iceberg"

    # Worker

    @property
    def python_modules(self) -> tuple[str, ...]:
        """Modules whose functions connectors may name."""
        return listed(self.text("FRAZIL_PYTHON_MODULES"))

    @property
    def sql_files(self) -> Path | None:
        """Folder of the files that statements may join with."""
        text = self.text("FRAZIL_SQL_FILES").strip()
        return Path(text).expanduser() if text else None

    @cached_property
    def connect_port(self) -> int:
        """Port of the worker's first listener."""
        return self.listeners[0].port

    @cached_property
    def listeners(self) -> list[Listener]:
        """Listeners of the worker's REST API: `listeners` of Kafka Connect's worker, else loopback."""
        text = self.worker_properties.get("listeners", "").strip()
        if text:
            return parse_listeners(text, "listeners")
        return [Listener("http", LOOPBACK, self.port("KAFKA_CONNECT_PORT"))]

    connect_external = _is_set("KAFKA_CONNECT_URL")

    @cached_property
    def connect_url(self) -> str:
        return self.text("KAFKA_CONNECT_URL", derived=self.listeners[0].url).rstrip("/")

    @cached_property
    def connect_access(self) -> ConnectAccess:
        """Access of clients to the worker; raises ConfigError when the variables for it do not fit together."""
        access = ConnectAccess(
            self.connect_url,
            self.text("KAFKA_CONNECT_USER"),
            self.text("KAFKA_CONNECT_PASSWORD"),
            self.file("KAFKA_CONNECT_CA_FILE"),
            self.file("KAFKA_CONNECT_CERT_FILE"),
            self.file("KAFKA_CONNECT_KEY_FILE"),
            embedded=not self.connect_external,
        )
        access.check()
        return access

    @cached_property
    def contexts_file(self) -> Path:
        """The user's named workers; see `frazil.environment.contexts`."""
        folder = self.text("XDG_CONFIG_HOME", derived=str(self._user / ".config"))
        return expanded("XDG_CONFIG_HOME", folder) / "frazil" / "contexts.json"

    context = _text("FRAZIL_CONTEXT")
    """The context that the environment chooses; empty when it leaves the choice to the user's file."""

    source_connect_port = _port("SOURCE_CONNECT_PORT")

    @cached_property
    def source_connect_url(self) -> str:
        """A Kafka Connect cluster of the user's for source connectors; empty for the worker's own runtime."""
        return self.given("SOURCE_CONNECT_URL").rstrip("/")

    actuator_port = _port("ACTUATOR_PORT")
    spark_master = _text("SPARK_MASTER")
    """Master that runs the tasks (`SPARK_MASTER`): all cores of this machine, or a cluster."""
    spark_memory = _text("SPARK_DRIVER_MEMORY")
    """Heap of the driver's JVM (`SPARK_DRIVER_MEMORY`)."""

    @cached_property
    def spark_ui_port(self) -> int | None:
        """Port of Spark's own pages; None when there are none."""
        return self.port("SPARK_UI_PORT") if self.given("SPARK_UI_PORT") else None

    def providers(self) -> ConfigProviders:
        """Providers of the keys `config.providers` of the worker, from variables `CONNECT_…` as container images have
        them. Raises ConfigError."""
        return ConfigProviders.load(self.worker_properties, self.env)

    # PostgreSQL
    postgres_port = _port("AWS_RDS_PORT")
    postgres_external = _is_set("AWS_RDS_ENDPOINT")
    postgres_host = _text("AWS_RDS_ENDPOINT")
    """Host of the database to capture changes from (`AWS_RDS_ENDPOINT`): one of the user's, else loopback."""
    postgres_database = _text("AWS_RDS_DBNAME")
    postgres_user = _text("AWS_RDS_USER")

    @property
    def postgres_password_file(self) -> Path:
        """File of the password that the embedded PostgreSQL has where `AWS_RDS_PASSWORD` gives none."""
        return self.home / "conf" / "postgres" / "password"

    @property
    def postgres_password(self) -> str:
        """Password of that user; empty when none is known."""
        given = self.given("AWS_RDS_PASSWORD")
        if given or self.postgres_external or not self.postgres_password_file.exists():
            return given
        return self.postgres_password_file.read_text("utf-8").strip()

    def postgres_access(self, database: str = "") -> dict[str, Any]:
        """Parameters of a connection, by libpq's names."""
        return {
            "host": self.postgres_host,
            "port": self.postgres_port,
            "user": self.postgres_user,
            "password": self.postgres_password,
            "dbname": database or self.postgres_database,
        }

    # Topics file
    topics_file = _file("FRAZIL_TOPICS_FILE")
    """YAML file with topics that the worker stores; None without one."""

    @property
    def topic_defaults(self) -> TopicDefaults:
        """Defaults of that file's entries; the store is that of the stack without a URL.

        Raises ConfigError for numbers that are none: other programs know these names too, so nobody else looks at them.
        """
        return TopicDefaults(
            self.text("S3_BUCKET_NAME"),
            self.text("S3_REGION"),
            self.text("S3_ENDPOINT_URL", derived=self.s3_endpoint).rstrip("/"),
            self._count("BATCH_SIZE"),
            self._count("FLUSH_INTERVAL"),
        )

    # SQL
    trino_port = _port("TRINO_PORT")
    trino_external = _is_set("TRINO_URL")

    @cached_property
    def trino_url(self) -> str:
        """A Trino of the user's, else the one of the stack, which runs on request only."""
        return (self.given("TRINO_URL") or f"http://{LOOPBACK}:{self.trino_port}").rstrip("/")

    # Schema registry
    registry_port = _port("SCHEMA_REGISTRY_PORT")
    registry_external = _is_set("SCHEMA_REGISTRY_URL")

    @cached_property
    def registry_url(self) -> str:
        """A schema registry of the user's, else the one of the stack, which runs on request only; Confluent's API."""
        own = f"http://{LOOPBACK}:{self.registry_port}/apis/ccompat/v7"
        return self.text("SCHEMA_REGISTRY_URL", derived=own).rstrip("/")

    @cached_property
    def sql_catalog(self) -> str:
        """The catalog's name in SQL: the last part of the warehouse's name."""
        return self.warehouse.rstrip("/").rsplit("/", 1)[-1]

    def catalog_properties(self) -> dict[str, str]:
        """Properties of the Iceberg REST catalog, in the spelling of the sink's `iceberg.catalog.*` keys."""
        return {
            "type": "rest",
            "uri": self.catalog_uri,
            "warehouse": self.warehouse,
            "rest.sigv4-enabled": "true",
            "rest.signing-name": "s3tables",
            "rest.signing-region": self.region,
            "rest.access-key-id": self.access_key,
            "rest.secret-access-key": self.secret_key,
            "s3.endpoint": self.s3_endpoint,
            "s3.path-style-access": "true",
            "s3.access-key-id": self.access_key,
            "s3.secret-access-key": self.secret_key,
            "client.region": self.region,
        }


def _remarks(path: Path, found: Mapping[str, str]) -> tuple[str, ...]:
    """Names that are nearly those of variables; others are for other programs."""
    near = {name: nearest(name, VARIABLES, _NEAR) for name in found if name not in VARIABLES}
    return tuple(
        f"{path}: {name} is no variable and has no effect; did you mean {meant}?"
        for name, meant in near.items()
        if meant and not name.startswith("CONNECT_")
    )
