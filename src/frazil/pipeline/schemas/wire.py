"""Ids of schemas in records: before their bytes, or in a header."""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass
from typing import Literal

from frazil.clients.kafka.headers import Headers
from frazil.clients.registry.client import IdKind, SchemaId
from frazil.pipeline.convert.strict import ConversionError

Part = Literal["key", "value"]

_NUMBER = struct.Struct(">i").unpack_from
_LONG = struct.Struct(">q").unpack_from
_GUID_BYTES = 16


@dataclass(frozen=True)
class Framing:
    """Place and form of the ids.

    `kind` is what a number before the bytes is, `width` how many bytes it has. With `apicurio` headers are those of
    Apicurio's converters, else Confluent's.
    """

    part: Part = "value"
    kind: IdKind = "id"
    width: Literal[4, 8] = 4
    apicurio: bool = False

    def find(self, data: bytes, headers: Headers) -> tuple[SchemaId, int]:
        """Find the id, and the place where the record itself begins. Raises ConversionError when there is none."""
        for name, value in reversed(headers):
            if value is None or self.part not in name:
                continue
            if self.apicurio and name in (f"apicurio.{self.part}.contentId", f"apicurio.{self.part}.globalId"):
                if len(value) != 8:
                    raise ConversionError("", f"the header {name} has {len(value)} bytes, expected 8")
                return SchemaId("contentId" if name.endswith("contentId") else "globalId", _LONG(value)[0]), 0
            if not self.apicurio and name == f"__{self.part}_schema_id":
                return self._prefix(value, f"the header {name}")[0], 0
        return self._prefix(data, f"the {self.part}")

    def _prefix(self, data: bytes, what: str) -> tuple[SchemaId, int]:
        magic = data[:1]
        if magic == b"\0" and len(data) > self.width:
            number = (_NUMBER if self.width == 4 else _LONG)(data, 1)[0]
            return SchemaId(self.kind, number), 1 + self.width
        if magic == b"\1" and len(data) > _GUID_BYTES and not self.apicurio:
            return SchemaId("guid", str(uuid.UUID(bytes=data[1 : 1 + _GUID_BYTES]))), 1 + _GUID_BYTES
        raise ConversionError("", f"{what} does not begin with the id of a schema (0x00 and {self.width} bytes)")
