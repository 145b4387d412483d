"""Fetches into the cache what a worker would fetch when it is needed, for images that have no network later."""

import sys

from frazil.environment.settings import Settings
from frazil.errors import FrazilError
from frazil.stack.jars import ICEBERG_SPARK, JMX_EXPORTER, KAFKA, resolve
from frazil.stack.java import find_java


def main() -> None:
    """Fetch the jars of table maintenance, and those of the broker and of the runtime of source connectors.

    Exit code 1 with the reason on standard error when one cannot be had; what is there stays.
    """
    settings = Settings.load()
    try:
        java = find_java(settings.env)
        for wanted in (ICEBERG_SPARK, KAFKA, JMX_EXPORTER):
            resolve(wanted, java, settings.cache, lambda line: print(line, file=sys.stderr), settings.env)
    except FrazilError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
