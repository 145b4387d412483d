"""Folders by field, by time and by both, and records that have none."""

from __future__ import annotations

import numpy as np
import pytest

from frazil.connectors.objects.config.object_sink import ObjectSinkConfig
from frazil.connectors.objects.partitioners import Folders, Partitioner
from frazil.connectors.objects.records import Records, Schema
from frazil.pipeline.types import STRING, Field, List, Scalar, Struct
from tests.connectors.objects.samples import BY_TIME, STORAGE, records, sink_with

DAY = 24 * 3_600_000


def folders(
    config: ObjectSinkConfig, found: Records, schemas: list[Schema] | None = None, clock: list[int] | None = None
) -> list[str]:
    """The folder of each record, without that of all topics, or `!` and the reason."""
    names = Folders()
    divided = Partitioner(config, names, schemas or []).divide(found, None if clock is None else np.array(clock))
    result = ["" if code < 0 else names.names[code].removeprefix("topics/").rstrip("/") for code in divided.codes]
    for index, error in divided.failed:
        result[index] = f"!{error.path}:{error.reason}"
    return result


def by_field(
    names: str, *texts: bytes | None, schema: Struct | None = None, more: dict[str, str] | None = None
) -> list[str]:
    config = sink_with(
        {"partitioner.class": STORAGE + "FieldPartitioner", "partition.field.name": names} | (more or {})
    )
    schemas = [Schema(b"", schema)] if schema is not None else None
    found = records(texts, schemas=[0] * len(texts) if schema is not None else None)
    return [one.removeprefix("t/").removeprefix("t|") for one in folders(config, found, schemas)]


def test_default_is_the_partition() -> None:
    assert folders(sink_with({}), records([b"1", b'"x"'])) == ["t/partition=12"] * 2


RECORD = b'{"boolean":true,"byte":42,"short":1234,"int":12,"string":"def","d":1.5,"array":[1],"null":null,"o":{"x":1}}'


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("boolean", "boolean=true"),
        ("byte", "byte=42"),
        ("string,int", "string=def/int=12"),
        ("int,string", "int=12/string=def"),
        ("null", "null=null"),
        ("absent", "absent=null"),
        ("null.a.b", "null.a.b=null"),
        ("o.x", "o.x=1"),
    ],
)
def test_folders_are_named_by_fields(names: str, expected: str) -> None:
    assert by_field(names, RECORD) == [expected]


def test_values_are_verbatim() -> None:
    value = rb'{"s":"test\/with\\special:chars=and+spaces \u00e4"}'
    assert by_field("s", value, b'{"s":""}') == ["s=test/with\\special:chars=and+spaces ä", "s="]


@pytest.mark.parametrize("name", ["d", "array", "o", "string.x"])
def test_other_values_are_refused_one_by_one(name: str) -> None:
    bad, good = by_field(name, RECORD, b'{"' + name.split(".")[0].encode() + b'":null}')
    assert bad.startswith("!") and bad.endswith(":Error encoding partition.")
    assert good == f"{name}=null"


@pytest.mark.parametrize("text", [b"1", b'"text"', b"[1]", b"true"])
def test_records_that_are_no_objects_have_no_fields(text: bytes) -> None:
    assert by_field("a", text) == ["!:Error encoding partition."]


def test_fields_of_records_with_a_schema() -> None:
    nested = Struct((Field("city", STRING),))
    schema = Struct((Field("a", Scalar("double")), Field("b", List(STRING)), Field("address", nested)))
    text = b'{"a":1,"b":null,"address":{"city":"NYC"}}'
    assert by_field("a", text, schema=schema) == ["!a:Error encoding partition."]
    assert by_field("b", text, schema=schema) == ["!b:Error encoding partition."]
    assert by_field("c", text, schema=schema) == ["!c:the schema of the record has no such field"]
    assert by_field("address.city", text, schema=schema) == ["address.city=NYC"]


def test_the_delimiter_separates_folders() -> None:
    assert by_field("string,int", RECORD, more={"directory.delim": "|"}) == ["topics|t|string=def|int=12|"]


def test_records_without_a_value_have_their_folder() -> None:
    assert by_field("string", None, RECORD, None) == ["tombstone", "string=def", "tombstone"]


def test_names_that_s3_refuses() -> None:
    (found,) = by_field("s", b'{"s":"' + b"x" * 1000 + b'"}')
    assert found.startswith("!:the folder of the record has a name of")


def by_field_of_time(value: str, type_: str | None = None) -> str:
    config = sink_with({**BY_TIME, "timestamp.extractor": "RecordField", "timestamp.field": "h.f"})
    member = Struct((Field("f", Scalar(type_)),)) if type_ else None  # type: ignore[arg-type]
    schemas = [Schema(b"", Struct((Field("h", member),)))] if member else None
    found = records([b'{"h":{"f":' + value.encode() + b"}}"], schemas=[0] if schemas else None)
    return folders(config, found, schemas)[0]


@pytest.mark.parametrize(
    "value",
    [
        '"2015-04-02T01:00:00.000Z"',
        '"2015-04-02T01:00:00Z"',
        '"2015-04-02T03:00+02:00"',
        '"2015-04-02T01:00"',
        "1427936400000",
        '"1427936400000"',
        "1427936400000.9",
        "1.4279364e12",
    ],
)
def test_fields_hold_the_time(value: str) -> None:
    assert by_field_of_time(value) == "t/year=2015/month=04/day=02/hour=01"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('"-1"', "t/year=1970/month=01/day=01/hour=00"),
        ('"0"', "t/year=1970/month=01/day=01/hour=00"),
        ("28800000", "t/year=1970/month=01/day=01/hour=08"),
    ],
)
def test_digits_are_milliseconds(value: str, expected: str) -> None:
    assert by_field_of_time(value) == expected


@pytest.mark.parametrize("value", ['"9223372036854775807"', "-9223372036854775808"])
def test_instants_without_a_year(value: str) -> None:
    assert by_field_of_time(value).startswith("!:Error encoding partition. ")


@pytest.mark.parametrize("value", ["[1]", "true", "{}", "null"])
def test_other_values_are_no_times(value: str) -> None:
    assert by_field_of_time(value) == "!h.f:Error extracting timestamp from record field: h.f"


@pytest.mark.parametrize("type_", ["float", "double", "boolean"])
def test_other_types_are_no_times(type_: str) -> None:
    assert by_field_of_time("1", type_) == "!h.f:Error extracting timestamp from record field: h.f"


@pytest.mark.parametrize("value", ['"def"', '""', '"2015-04-02 01:00"', '"20 15"', "1e400", "99999999999999999999"])
def test_texts_that_are_no_times(value: str) -> None:
    assert by_field_of_time(value).startswith("!h.f:Invalid format")


def test_records_that_are_no_objects_have_no_time() -> None:
    config = sink_with({**BY_TIME, "timestamp.extractor": "RecordField"})
    assert folders(config, records([b'"x"'])) == ["!:Error encoding partition."]


def test_records_without_a_timestamp_and_their_neighbours() -> None:
    found = folders(sink_with(BY_TIME), records([b"1", b"2", b"3"], stamps=[0, -1, DAY]))
    assert found[0] == "t/year=1970/month=01/day=01/hour=00"
    assert found[1].startswith("!:Unable to determine timestamp using timestamp.extractor")
    assert found[2] == "t/year=1970/month=01/day=02/hour=00"


def test_wallclock_is_what_the_clock_said() -> None:
    config = sink_with({**BY_TIME, "timestamp.extractor": "Wallclock"})
    found = folders(config, records([b"1", b"2"], stamps=[0, 0]), clock=[DAY, 2 * DAY])
    assert found == [f"t/year=1970/month=01/day=0{day}/hour=00" for day in (2, 3)]


def test_fractions_of_a_second_in_a_pattern() -> None:
    config = sink_with({**BY_TIME, "path.format": "ss.SSS", "partition.duration.ms": "1"})
    assert folders(config, records([b"1", b"2"], stamps=[1, 2])) == ["t/00.001", "t/00.002"]


def test_renamed_topics_are_folders() -> None:
    found = folders(sink_with({}), records([b"1", b"2", b"3"], topics=["a", "t", "a"]))
    assert found == ["a/partition=12", "t/partition=12", "a/partition=12"]


@pytest.mark.parametrize(
    ("affix", "named", "without"),
    [
        ("PREFIX", "t/schema_name=X/partition=12", "t/schema_name=null/partition=12"),
        ("SUFFIX", "t/partition=12/schema_name=X", "t/partition=12/schema_name=null"),
    ],
)
def test_names_of_schemas(affix: str, named: str, without: str) -> None:
    config = sink_with({"s3.schema.partition.affix.type": affix})
    schemas = [Schema(b"1", None, "X"), Schema(b"2", None)]
    found = folders(config, records([b"1"] * 3, schemas=[0, -1, 1]), schemas)
    assert found == [named, without, without]
    assert folders(config, records([b"1"])) == [without]


def by_column(columns: str, *texts: bytes | None, **more: str) -> list[str]:
    config = {"partitioner.class": "frazil.ColumnPartitioner", "partition.field.name": columns, "timezone": "UTC"}
    config |= {"timestamp.extractor": "Record", "frazil.topic.folder": "false"}
    stamps = [DAY * number for number in range(len(texts))]
    return folders(
        sink_with(config | {name.replace("_", "."): value for name, value in more.items()}),
        records(texts, stamps=stamps),
    )


def test_columns_are_of_the_time_or_of_fields_in_their_order() -> None:
    found = by_column("year,region,day", b'{"region":"eu"}', b'{"region":"eu"}', b'{"region":"us"}')
    assert found == ["year=1970/region=eu/day=01", "year=1970/region=eu/day=02", "year=1970/region=us/day=03"]
    assert by_column("year,month,day,hour", b"1") == ["year=1970/month=01/day=01/hour=00"]
    assert by_column("a,b", b'{"a":1,"b":true}') == ["a=1/b=true"]


def test_values_of_columns_are_one_folder_each() -> None:
    found = by_column("a", b'{"a":"x/y=z\\u0000%"}', b'{"a":""}', b"{}", '{"a":"é "}'.encode(), b'{"a":1.5}', b"1")
    assert found[:4] == ["a=x%2Fy%3Dz%00%25", "a=__HIVE_DEFAULT_PARTITION__", "a=unknown", "a=é "]
    assert found[4:] == ["!a:Error encoding partition.", "!:Error encoding partition."]


def test_the_time_of_columns_may_be_a_field() -> None:
    found = by_column(
        "day,x", b'{"t":"1970-01-09","x":1}', b'{"t":[],"x":1}', timestamp_extractor="RecordField", timestamp_field="t"
    )
    assert found == ["day=09/x=1", "!t:Error extracting timestamp from record field: t"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (rb"..\/..\/other", ". or .."),
        (rb"a\/.", ". or .."),
        (rb"a\u0000b", "control character"),
        (rb"a\nb", "control character"),
    ],
)
def test_a_value_that_leads_elsewhere_or_that_no_store_takes_is_refused_alone(value: bytes, reason: str) -> None:
    bad, good = by_field("s", b'{"s":"' + value + b'"}', b'{"s":"a.b"}')
    assert bad.startswith("!") and reason in bad
    assert good == "s=a.b"


def test_a_record_that_is_nested_too_deeply_is_refused_alone() -> None:
    deep = b'{"s":"x","d":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    bad, good = by_field("s", deep, b'{"s":"y"}')
    assert bad.startswith("!")
    assert good == "s=y"


def test_the_folder_of_empty_values_is_no_value() -> None:
    config = sink_with({"partitioner.class": "frazil.ColumnPartitioner", "partition.field.name": "s"})
    bad, empty = folders(config, records([b'{"s":"__HIVE_DEFAULT_PARTITION__"}', b'{"s":""}']))
    assert bad.startswith("!s:") and "stands for an empty value" in bad
    assert empty == "t/s=__HIVE_DEFAULT_PARTITION__"
