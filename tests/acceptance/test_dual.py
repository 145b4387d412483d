"""Two stores, each several gateways behind nginx: gateways are killed while connectors write through them."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException

from frazil.clients.catalog import connect
from frazil.environment.settings import LOOPBACK
from frazil.stack.dual import GATEWAYS, make_dual
from frazil.stack.local import LocalStack
from frazil.stack.service import Service, Status
from tests.harness import Pipe, event, own_worker
from tests.isolation import isolated_settings
from tests.programs import program
from tests.waits import eventually


@pytest.fixture(scope="module")
def dual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    path = f"{Path(program('nginx', 'nginx')).parent}{os.pathsep}{os.environ['PATH']}"
    local = LocalStack(make_dual(isolated_settings(tmp_path_factory.mktemp("dual"), PATH=path)))
    try:
        local.start(lambda text: None)
        yield local
    finally:
        local.stop()


def named(stack: LocalStack, *names: str) -> list[Service]:
    services = {service.name: service for service in stack.services()}
    return [services[name] for name in names]


def kill(service: Service) -> None:
    pid = service.state().pid
    assert pid is not None
    process = psutil.Process(pid)
    process.kill()
    psutil.wait_procs([process])


@pytest.mark.stack
@pytest.mark.spark
@pytest.mark.timeout(400)
@pytest.mark.faults
def test_gateways_that_are_killed_under_load_lose_nothing(dual: LocalStack, tmp_path: Path) -> None:
    """One after the other, until one is left."""
    gateways = named(dual, *(f"dest{number}" for number in range(1, GATEWAYS)))
    (nginx,) = named(dual, "nginx-dest")
    with own_worker(dual.settings, tmp_path / "worker") as worker:
        pipe = Pipe(worker.settings, "behind_gateways").create()
        worker.client.put_config(pipe.connector, pipe.config(iceberg__control__commit__interval_ms="200"))
        numbers = itertools.count()

        def send() -> None:
            pipe.send([event(number) for number in itertools.islice(numbers, 400)])

        for gateway in gateways:
            for _ in range(5):
                send()
            before = pipe.snapshots()
            kill(gateway)
            assert gateway.state().status is Status.DIED
            assert nginx.state().status is Status.RUNNING
            send()
            eventually(lambda before=before: pipe.snapshots() > before)  # type: ignore[misc]
        for gateway in gateways:
            assert gateway.start(lambda text: None)
        eventually(lambda: pipe.lag() == 0)
        assert pipe.ids() == list(range(next(numbers)))
        assert worker.state(pipe.connector) == "RUNNING"


@pytest.mark.stack
def test_commits_through_different_gateways_keep_each_other(dual: LocalStack) -> None:
    settings = dual.settings
    ports = [gateway.ports for gateway in named(dual, "dest1", "dest2", "dest3")]
    catalogs = [
        connect(
            settings.catalog_properties()
            | {"uri": f"http://{LOOPBACK}:{catalog.number}", "s3.endpoint": f"http://{LOOPBACK}:{s3.number}"}
        )
        for s3, catalog in ports
    ]
    catalogs[0].create_namespace("gateways")
    rows = pa.table({"id": pa.array([1], pa.int64())})
    catalogs[0].create_table("gateways.shared", rows.schema)
    together = threading.Barrier(len(catalogs))

    def commit(catalog: Catalog) -> int:
        done = 0
        for _ in range(15):
            table = catalog.load_table("gateways.shared")
            together.wait()
            try:
                table.append(rows)
            except CommitFailedException:
                continue
            done += 1
        return done

    with ThreadPoolExecutor() as pool:
        done = sum(pool.map(commit, catalogs))
    assert done
    assert catalogs[0].load_table("gateways.shared").scan().to_arrow().num_rows == done


@pytest.mark.stack
def test_the_source_is_a_store_of_its_own(dual: LocalStack) -> None:
    import boto3

    settings = dual.settings

    def buckets(port: int) -> set[str]:
        store = boto3.client(
            "s3",
            endpoint_url=f"http://{LOOPBACK}:{port}",
            region_name=settings.region,
            aws_access_key_id=settings.access_key,
            aws_secret_access_key=settings.secret_key,
        )
        store.create_bucket(Bucket=f"of-{port}")
        return {bucket["Name"] for bucket in store.list_buckets()["Buckets"]}

    assert buckets(settings.source_port) == {f"of-{settings.source_port}"}
    assert f"of-{settings.source_port}" not in buckets(settings.s3_port)
