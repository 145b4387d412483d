"""Keys of the Iceberg sink, both generations."""

from frazil.connectors.keys.maintenance import MAINTENANCE_KEYS
from frazil.connectors.keys.restart import RESTART_KEYS
from frazil.connectors.keys.sink_definition import BATCH_RECORDS, WARNINGS_LEVEL
from frazil.declare.definition import Key
from frazil.declare.validators import (
    at_least,
    at_least_if_set,
    linear_java_regular_expression,
    non_empty,
    one_of,
    table_names,
)
from frazil.pipeline.mapper import mapper_names
from frazil.pipeline.transforms.classes.change_events import NAMES

_TABLE_PROGRESS = "the position is kept in the table's own snapshots, so no control topic is needed"
_WHOLE_BATCH = "a commit holds a whole batch, so there is nothing to wait for and no partial commit"
_RETRIED = "failed commits are tried again until they succeed, and the status shows it"
_NO_HADOOP = "files are written without Hadoop; set iceberg.catalog.s3.* for the object store"

MAPPERS = "frazil.record.mappers"
CDC_FORMAT = "frazil.cdc.format"
CDC_MODE = "frazil.cdc.mode"
MODES = ("replica", "append", "history")

ICEBERG_KEYS: tuple[Key, ...] = (
    # Destinations
    Key(
        "iceberg.tables",
        "LIST",
        "Destination tables, separated by commas, each as namespace.table. Every record goes to every table, unless "
        "iceberg.tables.route-field chooses.",
        default=None,
        importance="HIGH",
        validator=table_names,
    ),
    Key(
        "iceberg.tables.dynamic-enabled",
        "BOOLEAN",
        "Whether the value of iceberg.tables.route-field, in lower case, is the name of the table.",
        default=False,
    ),
    Key(
        "iceberg.tables.route-field",
        "STRING",
        "Dotted path of the field that chooses the table: it holds the name when iceberg.tables.dynamic-enabled is "
        "true, else iceberg.table.*.route-regex says which values are for which table.",
        default=None,
        validator=non_empty,
    ),
    Key("iceberg.tables.default-commit-branch", "STRING", "Branch of the tables to commit to.", default=None),
    # Rows and schema
    Key(
        "iceberg.tables.default-id-columns",
        "STRING",
        "Columns that identify a row, separated by commas; without it the identifier fields of the table. They are "
        "required in tables that are created.",
        default=None,
    ),
    Key(
        "iceberg.tables.default-partition-by",
        "STRING",
        "Partition fields of tables that are created, separated by commas: a column, or identity, year, month, day or "
        "hour of a column, bucket(column, count), truncate(column, width).",
        default=None,
    ),
    Key(
        "iceberg.tables.cdc-field",
        "STRING",
        "Dotted path of the field that says what a record does: text that begins with D deletes the row with the same "
        "key, any other and none puts the record in its place.",
        default=None,
    ),
    Key(
        "iceberg.tables.upsert-mode-enabled",
        "BOOLEAN",
        "Whether each record replaces the row with the same key. What DebeziumTransform or DmsTransform says of a "
        "record counts: a delete takes the row out.",
        default=False,
    ),
    Key(
        CDC_FORMAT,
        "STRING",
        "debezium, maxwell, dms, canal, mongo: each record is a change event of Debezium, of Maxwell, of AWS DMS, of "
        "Canal, or of Debezium for MongoDB, and changes the row with its key. auto: events of Debezium, AWS DMS and "
        "Canal are told by their fields, and any other record is the row itself. Heartbeats and records about "
        "transactions and schemas are left out. Without iceberg.tables.default-id-columns the fields of the record's "
        "key identify the rows of tables that are created.",
        default="none",
        validator=one_of(*NAMES),
    ),
    Key(
        CDC_MODE,
        "STRING",
        "What a table keeps of change events. replica: the rows as they are. append: each change, as a row with _op, "
        "_ts and _position. history: each version of a row, with _valid_from, _valid_to and _current too. append and "
        "history are for frazil.cdc.format=debezium.",
        default="replica",
        validator=one_of(*MODES),
    ),
    Key(
        "iceberg.tables.auto-create-enabled",
        "BOOLEAN",
        "Whether a missing table is created, with the columns that the records of its first batch have.",
        default=False,
    ),
    Key(
        "iceberg.tables.schema-force-optional",
        "BOOLEAN",
        "Whether required columns become optional when records have no value for them, while the schema evolves; those "
        "that identify a row stay required. New columns are always optional.",
        default=False,
    ),
    Key(
        "iceberg.tables.schema-case-insensitive",
        "BOOLEAN",
        "Whether fields find their columns in any case; without effect on tables with a name mapping.",
        default=False,
    ),
    Key(
        "iceberg.tables.evolve-schema-enabled",
        "BOOLEAN",
        "Whether fields that the table lacks become optional columns, and columns become wider for numbers that do not "
        "fit: int to long, float to double.",
        default=False,
    ),
    # Catalog and control topic
    Key("iceberg.catalog", "STRING", "Name of the catalog.", default="iceberg"),
    Key(
        "iceberg.control.topic",
        "STRING",
        "Topic over which the tasks of Kafka Connect's sink agree on a commit; read when its connector is taken over.",
        default="control-iceberg",
    ),
    Key(
        "iceberg.control.group-id",
        "STRING",
        "Consumer group that holds the position of Kafka Connect's sink, cg-control-<name> when it is not set; read "
        "when its connector is taken over, and kept up to date if it has a position.",
        default=None,
    ),
    Key(
        "iceberg.control.group-id-prefix",
        "STRING",
        "Prefix of the tasks' consumer groups.",
        default="cg-control-",
        importance="LOW",
        no_effect=_TABLE_PROGRESS,
    ),
    Key(
        "iceberg.connect.group-id",
        "STRING",
        "Consumer group of the connector.",
        default=None,
        importance="LOW",
        no_effect="the group is connect-<name>, or consumer.override.group.id when that is set",
    ),
    Key(
        "iceberg.control.commit.interval-ms",
        "INT",
        "Time between commits, in milliseconds.",
        default=300_000,
        validator=at_least(0),
    ),
    Key(
        "iceberg.control.commit.timeout-ms",
        "INT",
        "How long a commit waits for the tasks, in milliseconds.",
        default=30_000,
        no_effect=_WHOLE_BATCH,
    ),
    Key(
        "iceberg.control.commit.threads",
        "INT",
        "How many tables are committed at the same time; twice the number of cores when it is not set.",
        default=None,
        validator=at_least_if_set(1),
    ),
    Key(
        "iceberg.control.commit.max-consecutive-failures",
        "INT",
        "How many commits in a row may fail.",
        default=1,
        validator=at_least(1),
        no_effect=_RETRIED,
    ),
    Key(
        "iceberg.coordinator.transactional.prefix",
        "STRING",
        "Prefix of the transactional ids on the control topic.",
        default=None,
        importance="LOW",
        no_effect=_TABLE_PROGRESS,
    ),
    Key(
        "iceberg.coordinator.transactional.suffix",
        "STRING",
        "Suffix of the transactional ids on the control topic.",
        default=None,
        importance="LOW",
        no_effect=_TABLE_PROGRESS,
    ),
    Key(
        "iceberg.coordinator-executor-keep-alive-timeout-ms",
        "LONG",
        "How long idle commit threads live, in milliseconds.",
        default=120_000,
        importance="LOW",
        no_effect=_WHOLE_BATCH,
    ),
    Key(
        "iceberg.hadoop-conf-dir",
        "STRING",
        "Folder with Hadoop's configuration files.",
        default=None,
        no_effect=_NO_HADOOP,
    ),
    # Own keys
    Key(
        "frazil.tables.topic-pattern",
        "STRING",
        "Names the table after the topic: {topic} stands for the name of the record's topic after transformations, in "
        "lower case, as in streaming.{topic}. In place of iceberg.tables and iceberg.tables.route-field.",
        default=None,
        validator=non_empty,
    ),
    Key(
        "frazil.tables.allowed",
        "STRING",
        "Java regular expression for the whole names of tables, in lower case, that records may name: "
        "shop\\..*|demo\\.orders. Records that name another one are dead letters. All when it is not set.",
        default=None,
        validator=linear_java_regular_expression,
    ),
    Key(
        "frazil.tables.max.new",
        "INT",
        "Most tables that records may have the connector make between two starts; and most that they may name in one "
        "batch without there being any. Records that name more are dead letters.",
        default=1000,
        validator=at_least(0),
    ),
    Key(
        "frazil.redact.enabled",
        "BOOLEAN",
        "Whether credentials in log records (authorization headers, cookies, tokens, presigned signatures) are masked.",
        default=True,
    ),
    Key(
        MAPPERS,
        "LIST",
        "Record mappers, as installed packages name them, that may map and redact records of the tables that they "
        "know by their columns. All that are installed when it is not set, none when it is empty.",
        default=None,
        validator=mapper_names,
    ),
    BATCH_RECORDS,
    Key(
        "frazil.schema.max.new.columns",
        "INT",
        "Most columns, nested ones included, that one record or one batch may add to a table that is there. What most "
        "records have becomes columns; records with more are dead letters.",
        default=2000,
        validator=at_least(0),
    ),
    Key(
        "frazil.schema.max.columns",
        "INT",
        "Most columns, nested ones included, that records may bring a table to.",
        default=10_000,
        validator=at_least(1),
    ),
    Key(
        "frazil.conversion.mode",
        "STRING",
        "strict: a value is stored as it is, or its record is refused. legacy: values are bent as Kafka Connect's sink "
        "does; numbers wrap, fractions are cut, and every text but true is false.",
        default="strict",
        validator=one_of("strict", "legacy"),
    ),
    *RESTART_KEYS,
    WARNINGS_LEVEL,
    *MAINTENANCE_KEYS,
    # Families; a name belongs to the first one that matches
    Key(
        "frazil.schema.path.*",
        "STRING",
        "Type of the new column at this dotted path: an Iceberg type such as decimal(10,2) or timestamptz, map (of "
        "texts), json (the object's text), or ignore (never a column). The elements of a list are under element, the "
        "values of a map under value.",
        default=None,
    ),
    Key(
        "iceberg.tables.write-props.*",
        "STRING",
        "Table property for the writer, in place of the table's own.",
        default=None,
        aliases=("iceberg.table.write-props.*",),
    ),
    Key("iceberg.tables.auto-create-props.*", "STRING", "Property of tables that are created.", default=None),
    Key("iceberg.table.*.commit-branch", "STRING", "Branch of this table to commit to.", default=None),
    Key(
        "iceberg.table.*.id-columns",
        "STRING",
        "Columns that identify a row of this table, as in iceberg.tables.default-id-columns.",
        default=None,
    ),
    Key(
        "iceberg.table.*.cdc-mode",
        "STRING",
        "What this table keeps of change events, as in frazil.cdc.mode.",
        default=None,
    ),
    Key(
        "iceberg.table.*.partition-by",
        "STRING",
        "Partition fields of this table when it is created, as in iceberg.tables.default-partition-by.",
        default=None,
    ),
    Key(
        "iceberg.table.*.route-regex",
        "STRING",
        "Java regular expression for the value of iceberg.tables.route-field: records go to this table whose value it "
        "matches as a whole. References to groups, lookbehinds and lookaheads but at its beginning are refused: one "
        "record could keep them busy for hours.",
        default=None,
    ),
    Key(
        "iceberg.catalog.*",
        "STRING",
        "Property of the catalog: type, uri, warehouse, rest.*, s3.*. Without a uri those of the worker's own catalog "
        "and store count where the connector sets none.",
        default=None,
    ),
    Key("iceberg.hadoop.*", "STRING", "Hadoop setting.", default=None, no_effect=_NO_HADOOP),
    Key(
        "iceberg.kafka.*",
        "STRING",
        "Setting of the clients of the control topic.",
        default=None,
        no_effect=_TABLE_PROGRESS,
    ),
)
