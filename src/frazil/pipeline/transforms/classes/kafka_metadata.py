"""KafkaMetadataTransform: where a record is from, its time, and a constant as fields of the value."""

from frazil.declare.definition import Key
from frazil.pipeline.transforms.plugin import ICEBERG, Options, Problems, Transformation, text
from frazil.pipeline.transforms.record import COORDINATES, Apply, Json, Part, Record, coordinate, members, quoted


def _build(options: Options, part: Part) -> Apply:
    name, nested = text(options, "field_name"), options.get("nested") is True
    external = options.get("external_field")
    extra, value = str(external).split(",")[:2] if external is not None else ("", "")

    def apply(record: Record) -> None:
        found = members(record, "value")
        if found is None:
            return
        added: dict[str, Json] = {source: coordinate(record, source) for source in COORDINATES}
        if external is not None:
            added[extra] = quoted(value)
        if nested:
            found[name] = added
        else:
            for inner, json in added.items():
                found[f"{name}_{inner}"] = json

    return apply


def _check(prefix: str, options: Options) -> Problems:
    """A name and a value; empty parts at the end do not count, as where Java splits."""
    given = options.get("external_field")
    if isinstance(given, str) and len(given.rstrip(",").split(",")) != 2:
        yield "external_field", f"Could not parse {given} for external_field"


KAFKA_METADATA = Transformation(
    name="KafkaMetadataTransform",
    documentation="Adds topic, partition, offset and timestamp.",
    keys=(
        Key(
            "field_name",
            "STRING",
            "Name of the object, or what the names begin with.",
            default="_kafka_metadata",
            importance="LOW",
        ),
        Key("nested", "BOOLEAN", "Whether the fields are in one object.", default=False, importance="LOW"),
        Key("external_field", "STRING", "One more field, as name,value.", default=None, importance="LOW"),
    ),
    packages=ICEBERG,
    check=_check,
    build=_build,
)
