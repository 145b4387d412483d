from __future__ import annotations

import pytest

from frazil.worker.spark import is_local, listen_options


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2]", "local-cluster[1,1,1024]"])
def test_the_driver_of_a_local_master_listens_on_loopback_only(master: str) -> None:
    assert is_local(master)
    assert listen_options(master) == {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@pytest.mark.parametrize("master", ["spark://head:7077", "k8s://https://api:6443", "yarn"])
def test_a_cluster_reaches_the_driver_where_spark_says(master: str) -> None:
    assert not is_local(master)
    assert listen_options(master) == {}
