"""Checks of the variables that Spark's launcher would refuse with a trace."""

import re

import psutil

from frazil.environment.settings import Settings
from frazil.errors import ConfigError

_MEMORY = re.compile(r"([0-9]{1,12})([kmgt])", re.IGNORECASE)
_SHIFT = {"k": 10, "m": 20, "g": 30, "t": 40}
_LEAST_BYTES = 512 << 20
_MASTER = re.compile(
    r"local(\[(\*|0*[1-9][0-9]*)(\s*,\s*[0-9]+)?\])?|local-cluster\[[^\]]+\]|yarn|(spark|k8s)://\S+", re.DOTALL
)


def check_spark(settings: Settings) -> None:
    """Raise ConfigError for what no worker can start with, of `SPARK_MASTER` and the variables beside it."""
    master, memory = settings.spark_master, settings.spark_memory
    if settings.spark_ui_port is not None and not master.startswith("local"):
        raise ConfigError(
            f"SPARK_UI_PORT={settings.spark_ui_port}: with SPARK_MASTER={master} Spark's pages would listen "
            "everywhere, and ask for no login. No worker was started; unset it."
        )
    if _MASTER.fullmatch(master) is None:
        raise ConfigError(
            f"SPARK_MASTER={master}: expected local[N] with N of at least 1, local[*], spark://HOST:PORT, yarn or "
            "k8s://URL. No worker was started."
        )
    match = _MEMORY.fullmatch(memory)
    if match is None:
        raise ConfigError(
            f"SPARK_DRIVER_MEMORY={memory}: expected a whole number and k, m, g or t, such as 1g. No worker was "
            "started."
        )
    wanted, there = int(match[1]) << _SHIFT[match[2].lower()], psutil.virtual_memory().total
    if not _LEAST_BYTES <= wanted <= there:
        raise ConfigError(
            f"SPARK_DRIVER_MEMORY={memory}: expected at least 512m, and at most the {there >> 20}m that this machine "
            "has. No worker was started."
        )
