"""MongoDebeziumTransform, which is refused."""

from __future__ import annotations

from frazil.declare.definition import Key
from frazil.pipeline.transforms.plugin import ICEBERG, Transformation

MONGO_DEBEZIUM = Transformation(
    name="MongoDebeziumTransform",
    documentation="Debezium for MongoDB: makes fields from BSON text.",
    keys=(Key("array_handling_mode", "STRING", "array or document.", default=None),),
    packages=ICEBERG,
    build=None,
    refused="Not supported yet. It works on records with a schema, and records are read without: have Debezium's "
    "ExtractNewDocumentState make plain documents on the source side",
)
