"""Schemas of a schema registry, and their names in records."""

from dataclasses import dataclass
from typing import Literal

SchemaType = Literal["AVRO", "PROTOBUF", "JSON", "KCONNECT"]
IdKind = Literal["id", "guid", "contentId", "globalId"]


@dataclass(frozen=True)
class SchemaId:
    """Name of a schema in a record: Confluent's number or GUID, or one of Apicurio's two numbers."""

    kind: IdKind
    value: int | str

    def __str__(self) -> str:
        return f"{self.kind} {self.value}"


@dataclass(frozen=True)
class Registered:
    """A schema as its registry has it; `references` are name and text of those that it needs, each behind its own."""

    text: str
    type: SchemaType | None = None
    references: tuple[tuple[str, str], ...] = ()
