"""Keys of the Iceberg sink, both generations (iceberg-sink.md 1.1)."""

from __future__ import annotations

from frazil.config.definition import Key
from frazil.config.maintenance_keys import MAINTENANCE_KEYS
from frazil.config.validators import at_least, table_names, unsupported

_TABLE_PROGRESS = "the position is kept in the table's own snapshots, so no control topic is needed"
_WHOLE_BATCH = "a commit holds a whole batch, so there is nothing to wait for and no partial commit"
_NO_UPSERT = "rows are appended; row keys matter for upserts and deletes only"
_NO_AUTO_CREATE = "tables are created beforehand"
_NO_ROUTING = "without iceberg.tables.route-field every record goes to every table"
_RETRIED = "failed commits are tried again until they succeed, and the status shows it"
_NO_HADOOP = "files are written without Hadoop; set iceberg.catalog.s3.* for the object store"

ICEBERG_KEYS: tuple[Key, ...] = (
    # Destinations
    Key(
        "iceberg.tables",
        "LIST",
        "Destination tables, separated by commas, each as namespace.table. Every record goes to every table.",
        default=None,
        importance="HIGH",
        validator=table_names,
    ),
    Key(
        "iceberg.tables.dynamic-enabled",
        "BOOLEAN",
        "Whether the table name is taken from each record.",
        default=False,
        validator=unsupported("Name the tables in iceberg.tables."),
    ),
    Key(
        "iceberg.tables.route-field",
        "STRING",
        "Dotted path of the field that chooses the table.",
        default=None,
        validator=unsupported("Use one connector per table."),
    ),
    Key("iceberg.tables.default-commit-branch", "STRING", "Branch of the tables to commit to.", default=None),
    # Rows and schema
    Key(
        "iceberg.tables.default-id-columns",
        "STRING",
        "Columns that identify a row, separated by commas.",
        default=None,
        no_effect=_NO_UPSERT,
    ),
    Key(
        "iceberg.tables.default-partition-by",
        "STRING",
        "Partition fields of tables that are created.",
        default=None,
        no_effect=_NO_AUTO_CREATE,
    ),
    Key(
        "iceberg.tables.cdc-field",
        "STRING",
        "Dotted path of the field that tells inserts, updates and deletes apart.",
        default=None,
        validator=unsupported("Remove this key to append every record."),
    ),
    Key(
        "iceberg.tables.upsert-mode-enabled",
        "BOOLEAN",
        "Whether each record replaces the row with the same key.",
        default=False,
        validator=unsupported("Set it to false to append every record."),
    ),
    Key(
        "iceberg.tables.auto-create-enabled",
        "BOOLEAN",
        "Whether a missing table is created from the first record.",
        default=False,
        validator=unsupported("Create the tables first and set it to false."),
    ),
    Key(
        "iceberg.tables.schema-force-optional",
        "BOOLEAN",
        "Whether new columns are optional whatever the record's schema says.",
        default=False,
        no_effect="records have no schema, and new columns are always optional",
    ),
    Key(
        "iceberg.tables.schema-case-insensitive",
        "BOOLEAN",
        "Whether fields find their columns in any case.",
        default=False,
        validator=unsupported("Set it to false and name the fields as the columns."),
    ),
    Key(
        "iceberg.tables.evolve-schema-enabled",
        "BOOLEAN",
        "Whether fields that the table lacks become optional columns; types of columns never change.",
        default=False,
    ),
    # Catalog and control topic
    Key("iceberg.catalog", "STRING", "Name of the catalog.", default="iceberg"),
    Key(
        "iceberg.control.topic",
        "STRING",
        "Topic over which tasks agree on a commit.",
        default="control-iceberg",
        no_effect=_TABLE_PROGRESS,
    ),
    Key(
        "iceberg.control.group-id",
        "STRING",
        "Consumer group that holds the position.",
        default=None,
        no_effect=_TABLE_PROGRESS,
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
        "How many tables are committed at the same time.",
        default=None,
        no_effect=_WHOLE_BATCH,
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
        "frazil.redact.enabled",
        "BOOLEAN",
        "Whether credentials in log records (authorization headers, cookies, tokens, presigned signatures) are masked.",
        default=True,
    ),
    Key(
        "frazil.batch.max.records",
        "INT",
        "Most records of one micro-batch, over all partitions.",
        default=500_000,
        validator=at_least(1),
    ),
    Key(
        "frazil.schema.max.new.columns",
        "INT",
        "Most columns, nested ones included, that one batch may add; records that bring more are dead letters.",
        default=200,
        validator=at_least(0),
    ),
    Key(
        "frazil.schema.max.columns",
        "INT",
        "Most columns, nested ones included, that new fields may bring a table to.",
        default=1000,
        validator=at_least(1),
    ),
    *MAINTENANCE_KEYS,
    # Families; a name belongs to the first one that matches
    Key(
        "iceberg.tables.write-props.*",
        "STRING",
        "Table property for the writer, in place of the table's own.",
        default=None,
        aliases=("iceberg.table.write-props.*",),
    ),
    Key(
        "iceberg.tables.auto-create-props.*",
        "STRING",
        "Property of tables that are created.",
        default=None,
        no_effect=_NO_AUTO_CREATE,
    ),
    Key("iceberg.table.*.commit-branch", "STRING", "Branch of this table to commit to.", default=None),
    Key(
        "iceberg.table.*.id-columns",
        "STRING",
        "Columns that identify a row of this table.",
        default=None,
        no_effect=_NO_UPSERT,
    ),
    Key(
        "iceberg.table.*.partition-by",
        "STRING",
        "Partition fields of this table when it is created.",
        default=None,
        no_effect=_NO_AUTO_CREATE,
    ),
    Key(
        "iceberg.table.*.route-regex",
        "STRING",
        "Regular expression for the value of the route field.",
        default=None,
        no_effect=_NO_ROUTING,
    ),
    Key("iceberg.catalog.*", "STRING", "Property of the catalog: type, uri, warehouse, rest.*, s3.*.", default=None),
    Key("iceberg.hadoop.*", "STRING", "Hadoop setting.", default=None, no_effect=_NO_HADOOP),
    Key(
        "iceberg.kafka.*",
        "STRING",
        "Setting of the clients of the control topic.",
        default=None,
        no_effect=_TABLE_PROGRESS,
    ),
)
