"""DropHeaders: headers of some names go."""

from frazil.declare.definition import Key
from frazil.pipeline.transforms.columns import same
from frazil.pipeline.transforms.plugin import Options, Transformation, items, not_empty
from frazil.pipeline.transforms.record import Apply, Part, Record


def _build(options: Options, part: Part) -> Apply:
    names = frozenset(items(options, "headers"))

    def apply(record: Record) -> None:
        record.headers = [header for header in record.headers if header[0] not in names]

    return apply


DROP_HEADERS = Transformation(
    name="DropHeaders",
    documentation="Removes headers. Headers are not stored, so this matters to what reads them alone.",
    keys=(Key("headers", "LIST", "Names of the headers.", importance="HIGH"),),
    check=not_empty("headers"),
    build=_build,
    columns=lambda options: same,
    writes_headers=True,
    of_json=True,
)
