"""The schema file of a connector on the driver: read again when it changes, and taken when its rule allows it.

The schema in use is kept as an object beside the data, so that the rule also counts over restarts and on other workers.
"""

import logging
from dataclasses import replace
from io import BytesIO
from stat import S_ISREG
from typing import Protocol

from frazil.connectors.objects.config.object_sink import JsonSchemaConfig, Layout
from frazil.connectors.objects.uploads import Store
from frazil.errors import ConfigError
from frazil.pipeline.json_schema import checker, parse_schema
from frazil.pipeline.schema_changes import refusals

logger = logging.getLogger(__name__)

_SHOWN = 5
_MOST_BYTES = 16 << 20


class SchemaStore(Store, Protocol):
    """Store of the schema in use."""

    def get(self, name: str) -> bytes | None:
        """An object; None when there is none. Raises ServiceUnavailable or ConfigError."""


def schema_object(layout: Layout, connector: str) -> str:
    """The name of the object with the schema in use; readers of tables pass over folders with an underscore."""
    return "".join(f"{part}/" for part in (layout.topics_dir, "_schemas") if part) + f"{connector}.json"


class SchemaFile:
    """Watches one file; used from one thread between batches."""

    def __init__(self, config: JsonSchemaConfig, name: str, store: SchemaStore, connector: str) -> None:
        self._config = config
        self._name = name
        self._store = store
        self._connector = connector
        self._text = b""
        self._stamp: tuple[int, int, int] | None = None
        self._told = ""

    def start(self) -> None:
        """Take the schema in use, or the file when there is none yet.

        Records that are read again are checked by the schema that they were checked by before, so a file that has
        changed since counts from the next `refresh` on. Raises ConfigError for a file that cannot be used when none is
        in use, and for a schema in use that cannot be read any more; ServiceUnavailable.
        """
        kept = self._store.get(self._name)
        if kept is None:
            self.refresh()
            return
        try:
            checker(kept, formats=self._config.formats)
        except ConfigError as error:
            raise ConfigError(
                f"object {self._name}, the schema in use, cannot be used: {error}. Nothing was read. Delete the object "
                "to begin with the schema file, then restart the connector."
            ) from None
        self._text = kept

    def current(self) -> JsonSchemaConfig:
        """The configuration with the schema in use."""
        return replace(self._config, text=self._text)

    def has_changed(self) -> bool:
        """Whether the file has changed since the last look, or cannot be looked at."""
        stamp = self._stamped()
        return stamp is None or stamp != self._stamp

    def refresh(self) -> None:
        """Look at the file again; one that may not take the place of the schema in use changes nothing.

        It is said once in the log then. Raises ServiceUnavailable when the store does not answer.
        """
        if not self.has_changed():
            return
        stamp = self._stamped()
        try:
            text = self._read()
            if text != self._text:
                self._check(text)
                self._keep(text)
        except ConfigError as error:
            if not self._text:
                raise ConfigError(f"{error} Nothing was read. Correct it, then restart the connector.") from None
            if str(error) != self._told:
                logger.warning("connector %s goes on with the schema that it has: %s", self._connector, error)
            self._told = str(error)
        else:
            self._told = ""
        self._stamp = stamp

    def _stamped(self) -> tuple[int, int, int] | None:
        try:
            found = self._config.file.stat()
        except (OSError, ValueError):
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> bytes:
        file = self._config.file
        try:
            kept = file.stat()
            if not S_ISREG(kept.st_mode):  # a pipe or a device may have no end
                raise ConfigError(f"schema file {file} is no regular file.")
            if kept.st_size > _MOST_BYTES:
                raise ConfigError(f"schema file {file} has {kept.st_size:,} bytes; {_MOST_BYTES:,} are the most.")
            return file.read_bytes()
        except (OSError, ValueError) as error:
            raise ConfigError(f"schema file {file} cannot be read: {getattr(error, 'strerror', error)}.") from None

    def _check(self, text: bytes) -> None:
        file = self._config.file
        try:
            new = parse_schema(text)
            checker(text, formats=self._config.formats)
        except ConfigError as error:
            raise ConfigError(f"schema file {file} cannot be used: {error}.") from None
        found = refusals(parse_schema(self._text), new, self._config.compatibility) if self._text else []
        if found:
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            raise ConfigError(
                f"schema file {file} breaks the rule {self._config.compatibility}: {'; '.join(found[:_SHOWN])}{more}. "
                "Put it right, or set frazil.schema.compatibility to NONE to take it."
            )

    def _keep(self, text: bytes) -> None:
        self._store.put(self._name, BytesIO(text), len(text), ())
        if self._text:
            logger.info("connector %s: schema file %s has changed and is used now", self._connector, self._config.file)
        self._text = text
