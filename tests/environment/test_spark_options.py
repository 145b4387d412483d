from __future__ import annotations

import pytest

from frazil.environment.settings import Settings
from frazil.environment.spark_options import check_spark
from frazil.errors import ConfigError


@pytest.mark.parametrize(
    "master",
    ["", "local", "local[2]", "local[*]", "local[2,3]", "local-cluster[1,1,1024]", "spark://h:7077", "yarn", "k8s://h"],
)
def test_masters(master: str) -> None:
    check_spark(Settings({"SPARK_MASTER": master}))


@pytest.mark.parametrize("master", ["foo", "local[0]", "local[x]", "local[]", "local[-1]", "spark://", "Local"])
def test_masters_that_spark_does_not_know(master: str) -> None:
    with pytest.raises(ConfigError, match=r"^SPARK_MASTER=.*: expected local\[N\]"):
        check_spark(Settings({"SPARK_MASTER": master}))


@pytest.mark.parametrize("memory", ["", "1g", "512m", "600M", "1048576k"])
def test_memory(memory: str) -> None:
    check_spark(Settings({"SPARK_DRIVER_MEMORY": memory}))


@pytest.mark.parametrize(
    ("memory", "reason"),
    [
        ("1x", "a whole number and k, m, g or t"),
        ("1024", "a whole number and k, m, g or t"),
        ("1.5g", "a whole number and k, m, g or t"),
        ("-1g", "a whole number and k, m, g or t"),
        ("1m", "at least 512m"),
        ("511m", "at least 512m"),
        ("99999g", "at most the [0-9]+m that this machine has"),
    ],
)
def test_memory_that_no_jvm_can_have(memory: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=f"^SPARK_DRIVER_MEMORY={memory}: expected .*{reason}"):
        check_spark(Settings({"SPARK_DRIVER_MEMORY": memory}))


def test_sparks_pages_are_for_a_master_on_this_machine() -> None:
    check_spark(Settings({"SPARK_UI_PORT": "4040"}))
    for master in ("spark://127.0.0.1:7077", "k8s://https://api:6443"):
        with pytest.raises(ConfigError, match="SPARK_UI_PORT=4040: .* ask for no login"):
            check_spark(Settings({"SPARK_MASTER": master, "SPARK_UI_PORT": "4040"}))
