"""Packages that only some uses need: the extras of `pyproject.toml`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from frazil.errors import ConfigError

Extra = Literal["delta", "otel", "postgres", "protobuf", "report", "shell", "sql", "trino"]


def missing(package: str, name: Extra) -> str:
    """The sentence for a package that is not installed and belongs to an extra."""
    return (
        f"the package {package} is not installed; it belongs to the extra `{name}`. "
        f"Install it with `pip install 'frazil[{name}]'` and try again"
    )


@contextmanager
def extra(name: Extra) -> Iterator[None]:
    """Surround the imports of an extra's packages; raises ConfigError when one is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        raise ConfigError(f"{missing(package, name)}") from error
