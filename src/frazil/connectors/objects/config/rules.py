"""Rules between the keys of an object sink, and what keys that do nothing were meant for."""

import re
from importlib.util import find_spec

from frazil.connectors.objects.config.delta_keys import DELTA_FORMAT, DELTA_KEYS
from frazil.connectors.objects.config.keys import FORMATS
from frazil.connectors.objects.config.partitioner_keys import class_of, is_timed, kind_of
from frazil.declare.converters import HEADER_CONVERTERS, JSON_CONVERTER, STRING_CONVERTER, converter_class
from frazil.declare.definition import Parsed, invalid_value
from frazil.declare.registry_converters import REGISTRY_CONVERTERS
from frazil.environment.extras import missing
from frazil.environment.urls import check_url
from frazil.errors import ConfigError
from frazil.pipeline.transforms.declaration import transform_chain

BYTES_CONVERTER = "org.apache.kafka.connect.converters.ByteArrayConverter"
_WITH_FIELDS = (JSON_CONVERTER, *REGISTRY_CONVERTERS)
_VALUE_CONVERTERS = (*_WITH_FIELDS, STRING_CONVERTER, BYTES_CONVERTER)
_BARE_VARIABLE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_MANY_OBJECTS = 10
_IN_NAMES = (
    "topics.dir",
    "directory.delim",
    "file.delim",
    "format.bytearray.extension",
    "tombstone.encoded.partition",
    "path.format",
)
_MOST_OF_A_NAME = 512
_SHOWN = 100
_BUCKET = re.compile(r"[A-Za-z0-9._-]{1,255}|arn:[A-Za-z0-9:/_-]+")
_REGION = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
"""Region as the AWS SDK takes it."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_NO_KEYS = {
    "compression.type": "compression of JSON Lines and bytes is s3.compression.type, that of Parquet is parquet.codec",
    "behavior.on.malformed.documents": "it is a key of the Elasticsearch sink. Bad records are dead letters with "
    "errors.tolerance=all, in errors.deadletterqueue.topic.name or <topic>-dlq",
    "s3.endpoint": "the URL of the store is store.url",
    "s3.endpoint.url": "the URL of the store is store.url",
}
"""Names that people set, and what they want instead."""


def leads_away(path: str) -> bool:
    """Whether a name has a part that stores and file systems take for this folder, or for the one above it."""
    return not {".", ".."}.isdisjoint(path.split("/"))


def has_controls(name: str) -> bool:
    """Whether a name has control characters, which stores refuse and XML cannot list."""
    return _CONTROL.search(name) is not None


def flag_text(text: str | None) -> bool:
    """Whether the text of a BOOLEAN key is true."""
    return (text or "").strip().lower() == "true"


def check_objects(parsed: Parsed) -> None:
    """Check all rules but those of partitioner, framework and transformations."""
    _check_formats(parsed)
    _check_converters(parsed)
    _check_nulls(parsed)
    _check_names(parsed)
    _check_store(parsed)
    _check_rotation(parsed)
    _check_own(parsed)
    _explain(parsed)


def _check_formats(parsed: Parsed) -> None:
    gzip = parsed.text("s3.compression.type") == "gzip"
    used = {"format.class": ("data", ()), "keys.format.class": ("keys", ("store.kafka.keys",))}
    used["headers.format.class"] = ("headers", ("store.kafka.headers",))
    for key, (what, switches) in used.items():
        found = class_of(parsed.text(key), FORMATS)
        if found is None or not all(parsed.flag(switch) for switch in switches):
            continue
        simple = found.rpartition(".")[2]
        if gzip and simple in ("AvroFormat", "ParquetFormat"):
            reason = f"Compression Type gzip not valid for {what} format class: ( {found} )."
            for name in (*switches, key, "s3.compression.type"):
                parsed.fail(name, invalid_value(name, parsed.values[name], reason))
        elif simple == "ParquetFormat" and switches:
            reason = "Keys and headers have no columns. Set JsonFormat, AvroFormat or ByteArrayFormat"
            parsed.fail(key, invalid_value(key, found, reason))
        elif simple == "ByteArrayFormat" and what == "headers":
            parsed.fail(key, invalid_value(key, found, "Headers are no bytes. Set JsonFormat or AvroFormat"))
    codec = parsed.text("parquet.codec")
    if codec in ("lzo", "lz4"):
        reason = "Not supported, for other readers do not support it either. Set lz4_raw, zstd, snappy or gzip"
        parsed.fail("parquet.codec", invalid_value("parquet.codec", codec, reason))
    data = (class_of(parsed.text("format.class"), FORMATS) or "").rpartition(".")[2]
    for key, formats in _ONLY_FOR.items():
        if key in parsed.config and data and data not in formats:
            parsed.warn(f"{key} has no effect here: it is for {' and '.join(formats)}")


_ONLY_FOR = {
    "parquet.codec": ("ParquetFormat",),
    "avro.codec": ("AvroFormat",),
    "format.bytearray.extension": ("ByteArrayFormat",),
    "format.bytearray.separator": ("ByteArrayFormat",),
    "json.decimal.format": ("JsonFormat",),
}


def _check_converters(parsed: Parsed) -> None:
    header = converter_class(parsed.text("header.converter"))
    if header is not None and header not in HEADER_CONVERTERS:
        parsed.fail("header.converter", f"Class class {header} does not implement the HeaderConverter interface")
    value = converter_class(parsed.text("value.converter"))
    if value is None:
        return
    if value not in _VALUE_CONVERTERS:
        reason = f"Not supported. Set one of: {', '.join(_VALUE_CONVERTERS)}"
        parsed.fail("value.converter", invalid_value("value.converter", value, reason))
        return
    chain = transform_chain(parsed)
    makes_objects = chain is not None and chain.value_is_text
    data = (class_of(parsed.text("format.class"), FORMATS) or "").rpartition(".")[2]
    if value == BYTES_CONVERTER and not makes_objects and data == "AvroFormat":
        reason = "AvroFormat stores records and texts. Set ByteArrayFormat for bytes"
        parsed.fail("value.converter", invalid_value("value.converter", value, reason))
    elif (
        value not in _WITH_FIELDS
        and not makes_objects
        and (data == "ParquetFormat" or kind_of(parsed) in ("Field", "Column"))
    ):
        what = "ParquetFormat" if data == "ParquetFormat" else f"{kind_of(parsed)}Partitioner"
        reason = f"{what} needs records with fields. Set value.converter to {JSON_CONVERTER}"
        parsed.fail("value.converter", invalid_value("value.converter", value, reason))
    if chain is not None and chain.changes_keys and parsed.flag("store.kafka.keys"):
        _check_changed_keys(parsed, ", ".join(chain.changes_keys))
    if value == BYTES_CONVERTER and chain is not None:
        reason = f"Transformations read JSON. Set value.converter to {JSON_CONVERTER}"
        parsed.fail("value.converter", invalid_value("value.converter", value, reason))


def _check_changed_keys(parsed: Parsed, aliases: str) -> None:
    """Keys that transformations change are no bytes, neither before nor in their objects."""
    converter = converter_class(parsed.text("key.converter"))
    form = class_of(parsed.text("keys.format.class"), FORMATS) or ""
    for name, value, is_bytes in (
        ("key.converter", converter, converter == BYTES_CONVERTER),
        ("keys.format.class", form, form.endswith(".ByteArrayFormat")),
    ):
        if is_bytes:
            reason = f"Not supported with store.kafka.keys and transformations that change keys ({aliases})"
            parsed.fail(name, invalid_value(name, value, reason))


def _check_nulls(parsed: Parsed) -> None:
    behavior = parsed.text("behavior.on.null.values").lower()
    if behavior == "write" and not parsed.flag("store.kafka.keys"):
        for name in ("store.kafka.keys", "behavior.on.null.values"):
            reason = "Records without a value are stored by their key: set store.kafka.keys to true"
            parsed.fail(name, invalid_value(name, parsed.values[name], reason))
    if "tombstone.encoded.partition" in parsed.config and behavior != "write":
        parsed.warn("tombstone.encoded.partition has no effect here: behavior.on.null.values is not write")
    if "report.null.values.to.dlq" in parsed.config and behavior != "ignore":
        parsed.warn("report.null.values.to.dlq has no effect here: behavior.on.null.values is not ignore")


def _check_names(parsed: Parsed) -> None:
    """Check texts in the names of all objects: they have to leave room for the rest, and to stay in their folder."""
    for name in _IN_NAMES:
        text = parsed.text(name).replace("'", "") if name == "path.format" else parsed.text(name)
        if "${" in text:
            continue
        if len(text.encode()) > _MOST_OF_A_NAME:
            reason = f"It is longer than {_MOST_OF_A_NAME} bytes, and a name in S3 has 1024 at most"
        elif has_controls(text):
            reason = "Names of objects have no control characters"
        elif leads_away(text):
            reason = "A part that is . or .. leads to another folder in some stores"
        else:
            continue
        parsed.fail(name, invalid_value(name, text[:_MOST_OF_A_NAME], reason))


def _check_store(parsed: Parsed) -> None:
    _check_address(parsed)
    if parsed.flag("s3.wan.mode") and parsed.flag("s3.path.style.access.enabled"):
        reason = "s3.wan.mode and s3.path.style.access.enabled exclude each other"
        for name in ("s3.wan.mode", "s3.path.style.access.enabled"):
            parsed.fail(name, invalid_value(name, parsed.values[name], reason))
    pair = ("aws.access.key.id", "aws.secret.access.key")
    for given, other in (pair, pair[::-1]):
        if parsed.text(given) and not parsed.text(other):
            parsed.fail(other, f"{given} is set and {other} is not: an access key has both, or neither is set")


def _check_address(parsed: Parsed) -> None:
    """The URLs of store and proxy, and the name of the bucket, as far as they are known here."""
    for name in ("store.url", "s3.proxy.url"):
        text = parsed.text(name)
        if not text or "${" in text:
            continue
        try:
            check_url(name, text if "://" in text else f"https://{text}")
        except ConfigError as error:
            parsed.fail(name, f"Invalid value for configuration {name}: {error}")
    bucket = parsed.text("s3.bucket.name")
    if bucket and "${" not in bucket and not _BUCKET.fullmatch(bucket):
        reason = "A bucket has up to 255 letters, digits, dots, hyphens and underscores"
        parsed.fail("s3.bucket.name", invalid_value("s3.bucket.name", bucket[:_SHOWN], reason))
    region = parsed.text("s3.region")
    if region and "${" not in region and not _REGION.fullmatch(region):
        reason = "A region is a name like us-east-1"
        parsed.fail("s3.region", invalid_value("s3.region", region[:_SHOWN], reason))


def _check_rotation(parsed: Parsed) -> None:
    if parsed.number("rotate.schedule.interval.ms") > 0 and not parsed.text("timezone"):
        reason = "timezone configuration must be set when using rotate.schedule.interval.ms"
        parsed.fail("timezone", invalid_value("timezone", "", reason))
    if parsed.number("rotate.interval.ms") > 0 and kind_of(parsed) and not is_timed(parsed):
        parsed.warn(
            "rotate.interval.ms has no effect here: only partitioners by time tell the time of records; "
            "rotate.schedule.interval.ms works with all"
        )
    flush = parsed.values.get("flush.size")
    if isinstance(flush, int) and flush < _MANY_OBJECTS and not parsed.errors.get("flush.size"):
        count = "every record" if flush <= 1 else f"every {flush} records"
        pointless = flush <= 1 and "rotate.interval.ms" in parsed.config
        never = "; rotate.interval.ms never counts then" if pointless else ""
        parsed.warn(
            f"flush.size={flush} stores an object for {count}: a million records are {1_000_000 // max(flush, 1):,} "
            f"requests to the store and as many files to list and open{never}. Try 10000 with rotate.interval.ms"
        )
    if parsed.text("schema.compatibility") not in ("", "NONE", "BACKWARD", "FORWARD", "FULL"):
        parsed.warn(f"schema.compatibility={parsed.text('schema.compatibility')} is taken for NONE")


def _check_own(parsed: Parsed) -> None:
    value = converter_class(parsed.text("value.converter"))
    if parsed.text("frazil.schema.file") and value not in (None, JSON_CONVERTER):
        reason = f"Schemas are for JSON. Set value.converter to {JSON_CONVERTER}"
        parsed.fail(
            "frazil.schema.file", invalid_value("frazil.schema.file", parsed.text("frazil.schema.file"), reason)
        )
    if parsed.flag("frazil.metadata.enable"):
        data = (class_of(parsed.text("format.class"), FORMATS) or "").rpartition(".")[2]
        reason = ""
        if data == "ByteArrayFormat" or (value not in (None, JSON_CONVERTER)):
            reason = f"Only JSON records can have it. Set value.converter to {JSON_CONVERTER}, and no ByteArrayFormat"
        elif data in ("ParquetFormat", "AvroFormat") and parsed.values.get("value.converter.schemas.enable") is True:
            reason = "The columns are those of the records' schema. Set value.converter.schemas.enable to false"
        if reason:
            parsed.fail("frazil.metadata.enable", invalid_value("frazil.metadata.enable", True, reason))
    _check_delta(parsed)
    for key in ("frazil.schema.formats", "frazil.schema.compatibility"):
        if key in parsed.config and not parsed.text("frazil.schema.file"):
            parsed.warn(f"{key} has no effect here: frazil.schema.file is not set")


def _check_delta(parsed: Parsed) -> None:
    if class_of(parsed.text("format.class"), (DELTA_FORMAT,)) is None:
        is_known = "format.class" not in parsed.errors
        for key in DELTA_KEYS:
            if key.name in parsed.config and is_known:
                parsed.warn(f"{key.name} has no effect here: format.class is not {DELTA_FORMAT}")
        return
    wanted: dict[str, tuple[bool, str]] = {
        "format.class": (find_spec("deltalake") is not None, missing("deltalake", "delta")),
        "value.converter": (
            converter_class(parsed.text("value.converter")) in (None, *_WITH_FIELDS),
            f"Columns need records with fields. Set it to {JSON_CONVERTER}",
        ),
        "store.kafka.keys": (not parsed.flag("store.kafka.keys"), "Tables have no room for keys. Set it to false"),
        "store.kafka.headers": (
            not parsed.flag("store.kafka.headers"),
            "Tables have no room for headers. Set it to false",
        ),
        "partitioner.class": (
            kind_of(parsed) in ("", "Default", "Column"),
            "Folders of a Delta table are columns. Set frazil.ColumnPartitioner",
        ),
        "directory.delim": (parsed.text("directory.delim") == "/", "Delta tables have /. Leave it out"),
        "topics.dir": (bool(parsed.text("topics.dir")), "It is the folder of the table. Set it"),
        "s3.schema.partition.affix.type": (
            parsed.text("s3.schema.partition.affix.type").upper() == "NONE",
            "Folders of a Delta table are columns. Leave it out",
        ),
    }
    for name, (fits, reason) in wanted.items():
        if not fits:
            parsed.fail(name, invalid_value(name, parsed.values.get(name), reason))


def _explain(parsed: Parsed) -> None:
    """Say what a key that does nothing was meant for, and which texts stay as they are."""
    for name, reason in _NO_KEYS.items():
        if name in parsed.config:
            parsed.warnings[:] = [text for text in parsed.warnings if not text.startswith(f"{name} is not a key")]
            parsed.warn(f"{name} is not a key of this connector and has no effect: {reason}")
    literal = [name for name, text in parsed.config.items() if text and _BARE_VARIABLE.search(text)]
    if literal:
        parsed.warn(
            f"{', '.join(literal)}: text such as ${{NAME}} stays as it is. Write ${{env:NAME}} for a variable of the "
            "worker's environment"
        )
