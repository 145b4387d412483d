"""Filter: no record goes on."""

from __future__ import annotations

from frazil.pipeline.transforms.plugin import Transformation

FILTER = Transformation(
    name="Filter",
    documentation="Drops every record; meant for use with a predicate.",
    build=lambda options, part: lambda record: False,
)
