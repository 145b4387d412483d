"""Keys of the S3 sink: storage, formats, rotation."""

from frazil.connectors.keys.restart import RESTART_KEYS, WAIT_OF_S3_SINK
from frazil.connectors.keys.sink_definition import BATCH_RECORDS, WARNINGS_LEVEL
from frazil.connectors.objects.config.delta_keys import DELTA_FORMAT, DELTA_KEYS
from frazil.connectors.objects.config.partitioner_keys import PARTITIONER_KEYS, known_class
from frazil.connectors.objects.config.s3_keys import S3_KEYS
from frazil.declare.definition import Key
from frazil.declare.validators import LONGEST_BACKOFF_MS, between, non_empty, one_of, one_of_any_case

_FORMAT = "io.confluent.connect.s3.format."
FORMATS = tuple(
    _FORMAT + name
    for name in ("avro.AvroFormat", "json.JsonFormat", "bytearray.ByteArrayFormat", "parquet.ParquetFormat")
)
STORAGES = ("io.confluent.connect.s3.storage.S3Storage",)
CODECS = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw")
BEHAVIORS = ("ignore", "fail", "write")
_PLAIN_AVRO = "files have the types of Avro, and nothing of Connect's beside them"


STORAGE_KEYS: tuple[Key, ...] = (
    Key(
        "storage.class",
        "CLASS",
        "Where objects are stored.",
        importance="HIGH",
        validator=known_class(STORAGES),
        recommended=STORAGES,
    ),
    Key(
        "format.class",
        "CLASS",
        "Format of the objects.",
        importance="HIGH",
        validator=known_class((*FORMATS, DELTA_FORMAT)),
        recommended=FORMATS,
    ),
    Key(
        "flush.size",
        "INT",
        "Records of a Kafka partition, over all folders, after which its objects are stored.",
        importance="HIGH",
    ),
    Key(
        "rotate.interval.ms",
        "LONG",
        "Span of record time after which the objects of a Kafka partition are stored, in milliseconds; for "
        "partitioners by time only.",
        default=-1,
        importance="HIGH",
    ),
    Key(
        "rotate.schedule.interval.ms",
        "LONG",
        "Span of wall-clock time, counted from midnight in timezone, after which objects are stored, in milliseconds.",
        default=-1,
    ),
    Key(
        "rotate.file.on.partition.change",
        "BOOLEAN",
        "Whether objects are stored when the next record belongs to another folder, while rotate.interval.ms is set.",
        default=True,
        importance="LOW",
    ),
    Key(
        "partitioner.max.open.files",
        "INT",
        "Most folders that a Kafka partition has open objects for; -1 is any number.",
        default=-1,
        importance="LOW",
    ),
    Key("topics.dir", "STRING", "Folder of all topics; none when it is blank.", default="topics", importance="HIGH"),
    Key("directory.delim", "STRING", "What separates folders in the name of an object.", default="/"),
    Key("file.delim", "STRING", "What separates topic, partition and offset in the name of an object.", default="+"),
    Key(
        "filename.offset.zero.pad.width",
        "INT",
        "Digits of the offset in the name of an object.",
        default=10,
        importance="LOW",
        validator=between(0, 100, "Value must be at least 0"),
    ),
    Key("store.url", "STRING", "URL of the store, when it is not AWS; without a scheme it is https.", default=None),
    Key(
        "schema.compatibility",
        "STRING",
        "When records with another schema begin a new object: NONE, BACKWARD, FORWARD or FULL.",
        default="NONE",
        recommended=("NONE", "BACKWARD", "FORWARD", "FULL"),
    ),
    Key(
        "schemas.cache.size",
        "INT",
        "How many schemas are kept.",
        default=1000,
        no_effect="schemas are kept as long as they are used",
    ),
    Key("enhanced.avro.schema.support", "BOOLEAN", "Whether Avro keeps enums.", default=True, no_effect=_PLAIN_AVRO),
    Key(
        "connect.meta.data",
        "BOOLEAN",
        "Whether schemas of Avro files have the properties connect.* that tell of Connect's.",
        default=True,
    ),
    Key("allow.optional.map.keys", "BOOLEAN", "Whether map keys are optional.", default=False, no_effect=_PLAIN_AVRO),
    Key(
        "avro.codec",
        "STRING",
        "Compression of Avro files.",
        default="null",
        validator=one_of("null", "deflate", "snappy", "bzip2"),
    ),
    Key("parquet.codec", "STRING", "Compression of Parquet files.", default="snappy", validator=one_of(*CODECS)),
    Key(
        WAIT_OF_S3_SINK,
        "LONG",
        "Wait before records are read again when the store does not take their objects, in milliseconds, at least 100; "
        "it doubles up to frazil.restart.backoff.max.ms. frazil.restart.backoff.ms wins over it.",
        default=1000,
        importance="LOW",
        validator=between(0, LONGEST_BACKOFF_MS),
    ),
)

RECORD_KEYS: tuple[Key, ...] = (
    Key(
        "behavior.on.null.values",
        "STRING",
        "What a record without a value does: ignore leaves it out, fail stops the connector, write stores its key.",
        default="fail",
        importance="LOW",
        validator=one_of_any_case(*(name.upper() for name in BEHAVIORS)),
        recommended=BEHAVIORS,
    ),
    Key(
        "report.null.values.to.dlq",
        "BOOLEAN",
        "Whether records without a value that are left out are dead letters.",
        default=True,
        importance="LOW",
    ),
    Key(
        "tombstone.encoded.partition",
        "STRING",
        "Folder of records without a value, when they are stored.",
        default="tombstone",
        importance="LOW",
        validator=non_empty,
    ),
    Key(
        "store.kafka.keys",
        "BOOLEAN",
        "Whether the keys of records are stored in an object of their own.",
        default=False,
        importance="LOW",
    ),
    Key(
        "store.kafka.headers",
        "BOOLEAN",
        "Whether the headers of records are stored in an object of their own.",
        default=False,
        importance="LOW",
    ),
    Key(
        "keys.format.class",
        "CLASS",
        "Format of the objects with keys.",
        default=FORMATS[0],
        importance="LOW",
        validator=known_class(FORMATS),
        recommended=FORMATS[:3],
    ),
    Key(
        "headers.format.class",
        "CLASS",
        "Format of the objects with headers.",
        default=FORMATS[0],
        importance="LOW",
        validator=known_class(FORMATS),
        recommended=FORMATS[:2],
    ),
    Key(
        "json.decimal.format",
        "STRING",
        "How decimals of records with a schema are written in JSON: BASE64 or NUMERIC.",
        default="BASE64",
        validator=one_of_any_case("BASE64", "NUMERIC"),
    ),
    Key("format.bytearray.extension", "STRING", "Extension of objects of bytes.", default=".bin", importance="LOW"),
    Key(
        "format.bytearray.separator",
        "STRING",
        "What stands behind each record of bytes; a line feed when not set.",
        default=None,
        importance="LOW",
    ),
    Key(
        "s3.schema.partition.affix.type",
        "STRING",
        "Whether the name of the records' schema is a folder before or "
        "behind the partitioner's: NONE, PREFIX or SUFFIX.",
        default="NONE",
        importance="LOW",
        validator=one_of_any_case("NONE", "PREFIX", "SUFFIX"),
    ),
)

OWN_KEYS: tuple[Key, ...] = (
    *RESTART_KEYS,
    WARNINGS_LEVEL,
    Key(
        "frazil.rotate.bytes",
        "LONG",
        "Bytes of record values of a Kafka partition, before compression, after which its "
        "objects are stored; -1 is any number.",
        default=-1,
    ),
    BATCH_RECORDS,
    Key(
        "frazil.topic.folder",
        "BOOLEAN",
        "Whether the topic is a folder below topics.dir.",
        default=True,
        importance="LOW",
    ),
    Key(
        "frazil.schema.file",
        "STRING",
        "File on the worker with a JSON Schema; a record that is not valid is a bad record.",
        default="",
    ),
    Key(
        "frazil.schema.formats",
        "BOOLEAN",
        "Whether the schema's formats, such as date-time, are checked too.",
        default=False,
        importance="LOW",
    ),
    Key(
        "frazil.schema.compatibility",
        "STRING",
        "Which changes of the schema file are taken: BACKWARD (what was valid stays valid), FORWARD (what is valid now "
        "was valid before), FULL (both) or NONE (any).",
        default="BACKWARD",
        validator=one_of_any_case("BACKWARD", "FORWARD", "FULL", "NONE"),
        recommended=("BACKWARD", "FORWARD", "FULL", "NONE"),
    ),
    Key(
        "frazil.metadata.enable",
        "BOOLEAN",
        "Whether records get a member _metadata that tells topic, partition, offset and times.",
        default=False,
        importance="LOW",
    ),
    Key(
        "frazil.topics.entry",
        "STRING",
        "Entry of the worker's file of topics that the connector was made from; the worker changes and deletes the "
        "connector with that entry.",
        default="",
        importance="LOW",
    ),
)

OBJECT_KEYS: tuple[Key, ...] = (*STORAGE_KEYS, *S3_KEYS, *PARTITIONER_KEYS, *RECORD_KEYS, *OWN_KEYS, *DELTA_KEYS)
