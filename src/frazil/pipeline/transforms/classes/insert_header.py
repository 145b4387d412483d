"""InsertHeader: one more header."""

from frazil.declare.definition import Key
from frazil.pipeline.transforms.columns import same
from frazil.pipeline.transforms.headers import header_text
from frazil.pipeline.transforms.plugin import Options, Transformation, text
from frazil.pipeline.transforms.record import Apply, Part


def _build(options: Options, part: Part) -> Apply:
    header = text(options, "header"), header_text(text(options, "value.literal"))
    return lambda record: record.headers.append(header)


INSERT_HEADER = Transformation(
    name="InsertHeader",
    documentation="Adds a header. Headers are not stored, so this matters to what reads them alone.",
    keys=(
        Key("header", "STRING", "Name of the header.", importance="HIGH"),
        Key("value.literal", "STRING", "Value of the header.", importance="HIGH"),
    ),
    build=_build,
    columns=lambda options: same,
    writes_headers=True,
    of_json=True,
)
