"""Topics that the objects of a connector are of, kept as an object beside them.

A broker forgets the positions of a topic together with the topic. One that is made again has the same offsets, so its
objects would take the place of those that are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from io import BytesIO

import msgspec

from frazil.connectors.objects.config.object_sink import Layout
from frazil.connectors.objects.schema_file import SchemaStore
from frazil.errors import ConfigError


class _Known(msgspec.Struct):
    """Kafka's ids of topics by their names."""

    topics: dict[str, str]


_decode = msgspec.json.Decoder(_Known).decode


def topics_object(layout: Layout, connector: str) -> str:
    """The name of the object; readers of tables pass over folders with an underscore."""
    return "".join(f"{part}/" for part in (layout.topics_dir, "_topics") if part) + f"{connector}.json"


class KnownTopics:
    """Ids of the topics that a connector has stored objects of; used from one thread."""

    def __init__(self, name: str, store: SchemaStore) -> None:
        self._name = name
        self._store = store
        self._ids: dict[str, str] = {}

    def load(self) -> Mapping[str, str]:
        """Look at the object; the ids in it. Raises ConfigError or ServiceUnavailable."""
        try:
            kept = self._store.get(self._name)
            self._ids = {} if kept is None else _decode(kept).topics
        except msgspec.MsgspecError as error:
            raise ConfigError(
                f"object {self._name} cannot be used: {error}. Nothing was read. Delete it if the topics of the "
                "connector are still those that its objects are of."
            ) from None
        except ConfigError as error:
            raise self._refused(error) from error
        return self._ids

    def remember(self, ids: Mapping[str, str]) -> None:
        """Add ids; nothing is stored when they are known. Raises ConfigError or ServiceUnavailable."""
        self._keep({**self._ids, **ids})

    def forget(self, topics: Collection[str] | None, now: Mapping[str, str]) -> None:
        """Drop the ids of some topics, or of all with None, and add those of `now`. Raises as `remember` does."""
        left = {} if topics is None else {topic: id_ for topic, id_ in self._ids.items() if topic not in topics}
        self._keep({**left, **now})

    def _keep(self, ids: dict[str, str]) -> None:
        if ids == self._ids:
            return
        text = msgspec.json.encode(_Known(ids))
        try:
            self._store.put(self._name, BytesIO(text), len(text), ())
        except ConfigError as error:
            raise self._refused(error) from error
        self._ids = ids

    def _refused(self, error: ConfigError) -> ConfigError:
        return ConfigError(
            f"{error} The connector keeps in object {self._name} which topics it has read, and needs the rights to get "
            "and put it (and to list the bucket, without which S3 refuses to say that it is not there)."
        )
