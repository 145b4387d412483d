"""Kafka Connect's own transformations, called in a JVM: the oracle of the property tests."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from frazil.stack.ivy import PYSPARK_JARS

PREFIX = "org.apache.kafka.connect.transforms."


class ConnectError(Exception):
    """What a transformation or its configuration threw: class name and message."""


class Connect(AbstractContextManager["Connect"]):
    """A JVM with the jars of Kafka Connect."""

    def __init__(self, java: Path, jars: Sequence[Path], *, schemas: bool = False) -> None:
        (bridge,) = PYSPARK_JARS.glob("py4j-*.jar")
        port, token = launch_gateway(
            classpath=os.pathsep.join(map(str, jars)),
            jarpath=str(bridge),
            java_path=str(java),
            javaopts=["-Duser.timezone=UTC", "-Duser.language=en"],
            die_on_exit=True,
            enable_auth=True,
            redirect_stdout=None,
        )
        self._gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True, auto_field=True)
        )
        self._jvm = self._gateway.jvm
        self._json, self._keys = (self._jvm.org.apache.kafka.connect.json.JsonConverter() for _ in range(2))
        for is_key, converter in ((False, self._json), (True, self._keys)):
            converter.configure({"schemas.enable": str(schemas).lower(), "decimal.format": "NUMERIC"}, is_key)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gateway.shutdown()

    def configured(self, name: str, config: Mapping[str, str]) -> Any:
        """An instance of a transformation; raises ConnectError when it refuses its configuration."""
        loaded = self._jvm.java.lang.Class.forName(name if "." in name else PREFIX + name)
        nothing = self._gateway.new_array(self._jvm.java.lang.Object, 0)
        no_classes = self._gateway.new_array(self._jvm.java.lang.Class, 0)
        instance = loaded.getDeclaredConstructor(no_classes).newInstance(nothing)
        try:
            instance.configure(dict(config))
        except Py4JJavaError as error:
            raise _named(error) from None
        return instance

    def apply(self, transformation: Any, value: bytes | None, *, topic: str = "t", timestamp: int = 0) -> Any:
        """`(topic, value)` after the transformation, the value as JSON or None; None when the record is dropped."""
        after = self.after([transformation], value, topic=topic, timestamp=timestamp)
        return None if after is None else (after.topic(), self.json(after.valueSchema(), after.value()))

    def json(self, schema: Any, value: Any) -> bytes | None:
        """A value as the converter writes it; raises ConnectError for one that a transformation has made invalid."""
        try:
            encoded = self._json.fromConnectData("t", schema, value)
        except Py4JJavaError as error:
            raise _named(error) from None
        return None if encoded is None else bytes(encoded)

    def key_json(self, record: Any) -> bytes | None:
        """The key of a record as the converter writes it.

        A number becomes one of Python on its way, and an Integer on the way back: so it goes as the only field of a
        struct, whose name is taken out again.
        """
        schema, value = record.keySchema(), record.key()
        if schema is None or isinstance(value, bool) or not isinstance(value, int):
            return self.json(schema, value)
        within = self.configured("HoistField$Key", {"field": "k"}).apply(record)
        found = json.loads(self.json(within.keySchema(), within.key()) or b"")
        (own,) = found["schema"]["fields"]
        del own["field"]
        return json.dumps({"schema": own, "payload": found["payload"]["k"]}).encode()

    def headers(self, record: Any) -> list[tuple[str, bytes | None]]:
        """Names and values of the headers of a record."""
        found, headers = [], record.headers().iterator()
        while headers.hasNext():
            header = headers.next()
            found.append((header.key(), self.json(header.schema(), header.value())))
        return found

    def after(
        self,
        transformations: Sequence[Any],
        value: bytes | None,
        *,
        topic: str = "t",
        timestamp: int = 0,
        key: bytes | None = None,
    ) -> Any:
        """The record after transformations; None when it is dropped."""
        jvm = self._jvm
        try:
            data, of_key = self._json.toConnectData(topic, value), self._keys.toConnectData(topic, key)
        except Py4JJavaError as error:
            raise _named(error) from None
        record = jvm.org.apache.kafka.connect.sink.SinkRecord(
            topic,
            3,
            of_key.schema(),
            of_key.value(),
            data.schema(),
            data.value(),
            42,
            timestamp,
            jvm.org.apache.kafka.common.record.TimestampType.CREATE_TIME,
        )
        for transformation in transformations:
            try:
                record = transformation.apply(record)
            except Py4JJavaError as error:
                raise _named(error) from None
            if record is None:
                return None
        return record


def _named(error: Py4JJavaError) -> ConnectError:
    cause = error.java_exception
    return ConnectError(f"{cause.getClass().getName()}: {cause.getMessage()}")
