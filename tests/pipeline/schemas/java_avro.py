"""Java's Avro library, called in a JVM: the oracle for reading."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
import numpy as np
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from frazil.pipeline.schemas.avro import AvroType, branch_names
from frazil.pipeline.schemas.connect import PLAIN
from frazil.stack.ivy import PYSPARK_JARS


class JavaAvro(AbstractContextManager["JavaAvro"]):
    """A JVM with the Avro of PySpark."""

    def __init__(self, java: Path) -> None:
        (bridge,) = PYSPARK_JARS.glob("py4j-*.jar")
        port, token = launch_gateway(
            classpath=os.pathsep.join([f"{PYSPARK_JARS}/*"]),
            jarpath=str(bridge),
            java_path=str(java),
            javaopts=["-Xmx256m"],
            die_on_exit=True,
            enable_auth=True,
            redirect_stdout=None,
        )
        self._gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True, auto_field=True)
        )
        self._avro = self._gateway.jvm.org.apache.avro

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gateway.shutdown()

    def random(self, schema: str, count: int, seed: int, *, blocks: bool = False) -> Sequence[tuple[bytes, str]]:
        """Random records: what Java writes for each, and its JSON. With `blocks` sizes stand before long arrays."""
        parsed = self._parsed(schema)
        factory = self._avro.io.EncoderFactory.get()
        made = []
        data = self._avro.util.RandomData(parsed, count, seed).iterator()
        while data.hasNext():
            datum, texts = data.next(), []
            for as_json in (False, True):
                out = self._gateway.jvm.java.io.ByteArrayOutputStream()
                if as_json:
                    encoder = factory.jsonEncoder(parsed, out)
                elif blocks:
                    encoder = factory.blockingBinaryEncoder(out, None)
                else:
                    encoder = factory.binaryEncoder(out, None)
                self._avro.generic.GenericDatumWriter(parsed).write(datum, encoder)
                encoder.flush()
                texts.append(bytes(out.toByteArray()))
            made.append((texts[0], texts[1].decode()))
        return made

    def resolved(self, written: str, wanted: str, data: bytes) -> str | None:
        """Avro's own JSON of a record as another schema says it; None when Java cannot read it so."""
        reader = self._parsed(wanted)
        decoder = self._avro.io.DecoderFactory.get().binaryDecoder(data, None)
        out = self._gateway.jvm.java.io.ByteArrayOutputStream()
        encoder = self._avro.io.EncoderFactory.get().jsonEncoder(reader, out)
        try:
            datum = self._avro.generic.GenericDatumReader(self._parsed(written), reader).read(None, decoder)
        except Py4JJavaError:
            return None
        self._avro.generic.GenericDatumWriter(reader).write(datum, encoder)
        encoder.flush()
        return bytes(out.toByteArray()).decode()

    def _parsed(self, schema: str) -> Any:
        return self._avro.Schema.Parser().parse(schema)


def as_connect(type_: AvroType, value: Any) -> Any:
    """Avro's own JSON of a value, decoded, as JsonConverter writes the value."""
    kind = type_.kind
    if kind == "union":
        if value is None:
            return None
        ((found, inner),) = value.items()
        values = [branch for branch in type_.branches if branch.kind != "null"]
        names = branch_names(type_, PLAIN)
        index = next(i for i, branch in enumerate(type_.branches) if found in (branch.kind, branch.name))
        converted = as_connect(type_.branches[index], inner)
        if len(values) == 1:
            return converted
        empty = dict.fromkeys(name for name, branch in zip(names, type_.branches, strict=True) if branch.kind != "null")
        return {**empty, names[index]: converted}
    if kind == "record":
        return {name: as_connect(member, value[name]) for name, member, _ in type_.fields}
    if kind in ("bytes", "fixed"):
        return base64.b64encode(value.encode("latin-1")).decode()
    if kind == "float" and not isinstance(value, str):
        return float(str(np.float32(value)))  # Java writes the double that it is
    if type_.inner is not None:
        if kind == "map":
            return {key: as_connect(type_.inner, found) for key, found in value.items()}
        return [as_connect(type_.inner, found) for found in value]
    return value


def as_json(value: Any) -> Any:
    """A value as whoever reads the JSON of it gets it."""
    return msgspec.json.decode(msgspec.json.encode(value))
