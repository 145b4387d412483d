"""The formats of change events by the names that `frazil.cdc.format` has for them."""

from collections.abc import Mapping

from frazil.pipeline.transforms.formats.change import Format
from frazil.pipeline.transforms.formats.debezium import DEBEZIUM_FORMAT
from frazil.pipeline.transforms.formats.dms import DMS_FORMAT
from frazil.pipeline.transforms.formats.maxwell import MAXWELL
from frazil.pipeline.transforms.formats.mongo import MONGO_FORMAT

FORMATS: Mapping[str, Format] = {
    "debezium": DEBEZIUM_FORMAT,
    "maxwell": MAXWELL,
    "dms": DMS_FORMAT,
    "mongo": MONGO_FORMAT,
}
TOLD_APART = tuple(name for name, one in FORMATS.items() if not one.reads_keys)
"""Formats that `auto` stands for: the value alone tells their events."""
