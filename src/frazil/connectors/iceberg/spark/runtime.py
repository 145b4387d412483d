"""Iceberg inside Spark: its jars are added to a running session at the first use, catalogs are opened by properties.

A worker whose connectors only append never loads it. Catalogs of several connectors stand side by side in one session,
each under a name of its own. Their credentials are in the session's configuration only while a catalog is opened: not
in `SET`, nor in the properties that Spark attaches to every job.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from frazil.clients.catalog import server_properties
from frazil.clients.catalog_properties import without_code
from frazil.connectors.iceberg.spark.jvm_errors import JVM_ERRORS, frazil_error
from frazil.environment.settings import Settings
from frazil.errors import ConfigError
from frazil.stack.jars import ICEBERG_SPARK, resolve
from frazil.stack.java import find_java

_CLASS = "org.apache.iceberg.spark.SparkCatalog"
_FILE_IO = "org.apache.iceberg.aws.s3.S3FileIO"
_FIXED = {
    "cache-enabled": "false",  # a cached table would hide the commits of the writers
    "rest-metrics-reporting-enabled": "false",
}
_SIGV4 = {"rest.auth.type": "sigv4", "rest.auth.sigv4.delegate-auth-type": "none"}
_SHARED = {"access-key-id": "access-key-id", "secret-access-key": "secret-access-key", "session-token": "session-token"}


def spark_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of an Iceberg REST catalog in the sink's spelling, as Iceberg's Spark catalog takes them.

    Names of PyIceberg for access keys of catalog and store at once (`client.access-key-id`) become those of Iceberg.
    Raises ConfigError for `client.profile-name`, which only PyIceberg knows, and for what names code to be loaded.
    """
    if properties.get("client.profile-name"):
        raise ConfigError(
            "iceberg.catalog.client.profile-name is not known to Iceberg's Spark catalog, which maintenance and "
            "upserts use; nothing was done. Set AWS_PROFILE for the worker, or give the connector access keys."
        )
    result = {key: value for key, value in without_code(properties, "the catalog's properties").items() if value}
    for name in _SHARED:
        shared = result.pop(f"client.{name}", None)
        if shared is not None:
            result.setdefault(f"rest.{name}", shared)
            result.setdefault(f"s3.{name}", shared)
    signed = result.pop("rest.sigv4-enabled", "").lower() == "true" or result.get("rest.auth.type") == "sigv4"
    if signed:
        delegated = any(result.get(key) for key in ("token", "credential"))
        result = (_SIGV4 if not delegated else {"rest.auth.type": "sigv4"}) | result
    region = result.get("client.region") or result.get("rest.signing-region")
    if region:
        result["client.region"] = region
    return {"type": "rest", "io-impl": _FILE_IO} | result | _FIXED


class IcebergRuntime:
    """Iceberg in the JVM of a session; for use from any thread.

    `started` gives the session once it is there. `session` is another one in the same JVM, so that neither catalogs nor
    settings reach the connectors.
    """

    def __init__(
        self, started: Callable[[], SparkSession], settings: Settings, progress: Callable[[str], None] = lambda _: None
    ) -> None:
        self._started = started
        self._settings = settings
        self._progress = progress
        self._lock = threading.Lock()
        self._session: SparkSession | None = None
        self._names: dict[tuple[tuple[str, str], ...], str] = {}

    @property
    def session(self) -> SparkSession:
        """The session with the catalogs. Raises StackError when the jars cannot be had."""
        with self._lock:
            return self._loaded()

    def catalog(self, properties: Mapping[str, str]) -> str:
        """Open a catalog; returns its name in SQL: `name.namespace.table`. The same properties give the same name.

        Raises StackError (jars), ConfigError when the catalog refuses the warehouse or the access keys or names code,
        ServiceUnavailable when it does not answer.
        """
        wanted = spark_properties(properties)
        key = tuple(sorted(wanted.items()))
        with self._lock:
            if key not in self._names:
                without_code(server_properties(properties), f"the answers of the catalog at {properties.get('uri')}")
                name = f"iceberg_{len(self._names)}"
                _open(self._loaded(), name, wanted)
                self._names[key] = name
            return self._names[key]

    def table(self, properties: Mapping[str, str], name: str) -> Any:
        """A table of such a catalog as Iceberg's Java object, as it is now.

        Raises NotFound, ConfigError when its properties name code to be loaded, and as `catalog` does.
        """
        catalog = self.catalog(properties)
        session = self.session
        with self.calling(f"table {name}"):
            manager = session._jsparkSession.sessionState().catalogManager()  # noqa: SLF001
            identifier = jvm(session).org.apache.iceberg.catalog.TableIdentifier.parse(name)
            table = manager.catalog(catalog).icebergCatalog().loadTable(identifier)
            without_code(dict(table.properties()), f"the properties of table {name}")
            return table

    @contextmanager
    def calling(self, what: str, session: SparkSession | None = None) -> Iterator[None]:
        """Make `session` (the one of this object, or made from it) the active one of this thread, and errors of Iceberg
        those of frazil.

        `what` says what is asked for.
        """
        _activate(session or self.session)
        try:
            yield
        except JVM_ERRORS as error:
            raise frazil_error(error, what) from error

    def _loaded(self) -> SparkSession:
        if self._session is None:
            java = find_java(self._settings.env)
            jars = resolve(ICEBERG_SPARK, java, self._settings.cache, self._progress, self._settings.env)
            parent = self._started()
            java_context: Any = parent.sparkContext._jsc  # noqa: SLF001 - PySpark has no way to add jars to a context
            loader: Any = jvm(parent).java.lang.Thread.currentThread().getContextClassLoader()
            for jar in jars:
                loader.addURL(jvm(parent).java.io.File(str(jar)).toURI().toURL())
                java_context.addJar(str(jar))
            self._session = parent.newSession()
        return self._session


def quoted(catalog: str, table: str) -> str:
    """The name of a table in Spark's SQL, `table` being `namespace.table`."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in (catalog, *table.split(".")))


def jvm(session: SparkSession) -> Any:
    """The JVM of a session, to call Iceberg's Java API."""
    return session.sparkContext._jvm  # noqa: SLF001


def _activate(session: SparkSession) -> None:
    """Make a session the one that Spark and Iceberg find in this thread."""
    jvm(session).org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)  # noqa: SLF001


def _open(session: SparkSession, name: str, properties: Mapping[str, str]) -> None:
    """Have Spark make the catalog, which then lives as long as the session, and forget its properties again."""
    prefix = f"spark.sql.catalog.{name}"
    _activate(session)
    try:
        session.conf.set(prefix, _CLASS)
        for key, value in properties.items():
            session.conf.set(f"{prefix}.{key}", value)
        session._jsparkSession.sessionState().catalogManager().catalog(name)  # noqa: SLF001
    except JVM_ERRORS as error:
        session.conf.unset(prefix)
        where = f"the Iceberg catalog at {properties.get('uri')}, warehouse {properties.get('warehouse')!r}"
        raise frazil_error(error, where) from error
    finally:
        for key in properties:
            session.conf.unset(f"{prefix}.{key}")
