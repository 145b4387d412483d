"""ExtractChangedRecordState: the names of the fields that a change has changed, as headers."""

import msgspec

from frazil.declare.definition import Key
from frazil.pipeline.transforms.debezium_event import PACKAGE, change_event, state
from frazil.pipeline.transforms.plugin import Options, Transformation, text
from frazil.pipeline.transforms.record import NULL, Apply, Json, Part, Raw, Record, raw_bytes
from frazil.pipeline.types import STRING, List, Typed


def _build(options: Options, part: Part) -> Apply:
    """Both lists are empty unless the event has the row before and after the change."""
    headers = [(text(options, f"header.{kind}.name"), kind == "changed") for kind in ("changed", "unchanged")]

    def apply(record: Record) -> None:
        event = change_event(record)
        if event is None:
            return
        before, after = state(event, "before"), state(event, "after")
        differs: dict[str, bool] = {}
        if before is not None and after is not None:
            for name, value in after.items():
                differs[name] = raw_bytes(value) != raw_bytes(before.get(name, NULL))
        for header, changed in headers:
            if header:
                names = [name for name, has_changed in differs.items() if has_changed is changed]
                record.headers.append((header, _list(names, record)))

    return apply


def _list(names: list[str], record: Record) -> Json:
    raw = Raw(msgspec.json.encode(names))
    return Typed(raw, List(STRING)) if record.typed else raw


def _header(kind: str) -> Key:
    documentation = f"Name of the header for the fields that are {kind}; none without it."
    return Key(f"header.{kind}.name", "STRING", documentation, default=None, importance="LOW")


EXTRACT_CHANGED_RECORD_STATE = Transformation(
    name="ExtractChangedRecordState",
    documentation="Debezium: lists in headers which fields of the row a change event has changed, and which it has "
    "not. Headers are not stored: HeaderToValue makes a field of them.",
    keys=(_header("changed"), _header("unchanged")),
    packages=PACKAGE,
    build=_build,
)
