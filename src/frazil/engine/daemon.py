"""Spark's Python daemon with what tasks import loaded: the workers that it forks start at once and share its memory."""

import gc
import importlib
import sys

# Spark puts archives of PySpark and of its own classes first. A worker reads the lists of all their files again before
# each task, at 0.15 s of CPU; the packages that frazil is installed with are the same.
sys.path[:] = [place for place in sys.path if not place.endswith((".zip", ".jar"))]
for _place in [place for place in sys.path_importer_cache if place not in sys.path]:
    del sys.path_importer_cache[_place]

from pyspark import daemon  # noqa: E402

import frazil.clients.registry.client  # noqa: E402
import frazil.connectors.iceberg.changes.match  # noqa: E402
import frazil.pipeline.task  # noqa: E402, F401
from frazil.errors import ConfigError  # noqa: E402
from frazil.pipeline.mapper import installed_mappers, load_mapper  # noqa: E402

_AT_FIRST_CALLS = ("httpcore", "numpy.ma")
"""Modules that httpx and numpy import at their first call."""
_NEW_OBJECTS = 5_000
"""New objects until the collector looks, once a chunk: more looks find nothing, fewer leave what errors hold."""

for _module in _AT_FIRST_CALLS:
    importlib.import_module(_module)
for _mapper in installed_mappers():
    try:
        load_mapper(_mapper)
    except ConfigError as error:  # a connector that asks for it fails with the same words
        print(error, file=sys.stderr)

if __name__ == "__main__":
    gc.set_threshold(_NEW_OBJECTS)
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]
