"""The formats of change events by the names that `frazil.cdc.format` has for them."""

from collections.abc import Mapping

from frazil.pipeline.transforms.formats.canal import CANAL
from frazil.pipeline.transforms.formats.change import Format
from frazil.pipeline.transforms.formats.debezium import DEBEZIUM_FORMAT
from frazil.pipeline.transforms.formats.dms import DMS_FORMAT
from frazil.pipeline.transforms.formats.maxwell import MAXWELL
from frazil.pipeline.transforms.formats.mongo import MONGO_FORMAT

FORMATS: Mapping[str, Format] = {
    "debezium": DEBEZIUM_FORMAT,
    "maxwell": MAXWELL,
    "canal": CANAL,
    "dms": DMS_FORMAT,
    "mongo": MONGO_FORMAT,
}
TOLD_APART = tuple(name for name, one in FORMATS.items() if not one.reads_keys)
"""Formats that `auto` stands for: the value alone tells their events."""


def formats_of(name: str) -> tuple[Format, ...]:
    """Give the formats that a value of `frazil.cdc.format` stands for."""
    names = TOLD_APART if name == "auto" else (name,)
    return tuple(FORMATS[one] for one in names if one in FORMATS)
