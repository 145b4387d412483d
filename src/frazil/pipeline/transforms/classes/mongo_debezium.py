"""MongoDebeziumTransform, which is refused."""

from frazil.declare.definition import Key
from frazil.pipeline.transforms.plugin import ICEBERG, Transformation

MONGO_DEBEZIUM = Transformation(
    name="MongoDebeziumTransform",
    documentation="Debezium for MongoDB: makes fields from BSON text.",
    keys=(Key("array_handling_mode", "STRING", "array or document.", default=None),),
    packages=ICEBERG,
    build=None,
    refused="Not supported. Set frazil.cdc.format=mongo on an Iceberg connector, which reads the events as they are; "
    "or have Debezium's ExtractNewDocumentState make plain documents on the source side",
)
