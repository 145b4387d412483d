"""Filter: no record goes on."""

from frazil.pipeline.transforms.columns import one_by_one
from frazil.pipeline.transforms.plugin import Transformation

FILTER = Transformation(
    name="Filter",
    documentation="Drops every record; meant for use with a predicate.",
    build=lambda options, part: lambda record: False,
    columns=lambda options: one_by_one,
    of_json=True,
)
