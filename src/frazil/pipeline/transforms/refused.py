"""Classes that are refused, with what to write instead."""

from collections.abc import Mapping

_SCRIPT = "It runs a script, and no text of a configuration is run here. "
_AT_SOURCE = "It belongs to the source connector, where it works: leave it out here"
_NOTHING = "It changes nothing that a table has: leave it out"

REFUSED: Mapping[str, str] = {
    "io.debezium.transforms.Filter": f"{_SCRIPT}Set org.apache.kafka.connect.transforms.Filter with a predicate "
    "(TopicNameMatches, HasHeaderKey, RecordIsTombstone), or the script on the source connector",
    "io.debezium.transforms.ContentBasedRouter": f"{_SCRIPT}Set iceberg.tables.route-field and "
    "iceberg.table.*.route-regex, which send records to tables by a field, or ExtractNewRecordState's route.by.field",
    "io.debezium.transforms.partitions.PartitionRouting": "It chooses partitions of a topic, which a sink does not "
    "write: leave it out, or set it on the source connector",
    "io.debezium.transforms.ExtractSchemaToNewRecord": "It tells a sink the types of columns that records do not "
    "show. Leave it out: records with schemas keep theirs",
    "io.debezium.transforms.SchemaChangeEventFilter": "Leave it out: with frazil.cdc.format changes of schemas "
    "become no rows",
    "io.debezium.transforms.tracing.ActivateTracingSpan": _NOTHING,
    "io.debezium.transforms.openlineage.OpenLineage": _NOTHING,
    **{
        f"io.debezium.{name}": _AT_SOURCE
        for name in (
            "transforms.EnforceRecordSize",
            "transforms.GeometryFormatTransformer",
            "transforms.SwapGeometryCoordinates",
            "transforms.VectorToJsonConverter",
            "connector.postgresql.transforms.DecodeLogicalDecodingMessageContent",
            "connector.postgresql.transforms.timescaledb.TimescaleDb",
            "connector.mysql.transforms.ReadToInsertEvent",
            "connector.mongodb.transforms.outbox.MongoEventRouter",
        )
    },
}
"""Reasons by the full name of the class."""
