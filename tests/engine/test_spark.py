from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from frazil.engine.spark import SECRET, class_archive, executor_options, is_local, listen_options, log4j_properties
from frazil.environment.settings import Settings
from frazil.stack.java import find_java
from tests.isolation import isolated_settings, own_cache

_PROGRAM = """
import json, sys, psutil
from frazil.environment.settings import Settings
from frazil.engine import spark

session = spark.start(Settings.load())
jvm = psutil.Process(session.sparkContext._gateway.proc.pid)
maps = [file.path for file in jvm.memory_maps() if file.path.endswith(".jsa")]
print(json.dumps({"count": session.range(10).count(), "archives": maps}))
spark.stop(session)
jvm.wait(60)
"""


_PAGES = """
import json, urllib.request, psutil
from frazil.environment.settings import Settings
from frazil.engine import spark

settings = Settings.load()
session = spark.start(settings)
jvm = psutil.Process(session.sparkContext._gateway.proc.pid)
session.range(10).count()
page = urllib.request.urlopen(f"http://127.0.0.1:{settings.spark_ui_port}/jobs/", timeout=60).read().decode()
open_ports = [one.laddr for one in jvm.net_connections("tcp") if one.status == psutil.CONN_LISTEN]
spark.stop(session)
jvm.wait(60)
print(json.dumps({"jobs": "Completed Jobs" in page, "addresses": sorted({one.ip for one in open_ports})}))
"""

_ENDED = """
import json, psutil
from frazil.environment.settings import Settings
from frazil.engine import spark

session = spark.start(Settings.load())
jvm = psutil.Process(session.sparkContext._gateway.proc.pid)
told = [spark.ended(session)]
session.sparkContext._jsc.sc().stop()  # as Spark does when a cluster removes the application
told.append(spark.ended(session))
spark.stop(session)
jvm.wait(60)
told.append(spark.ended(session))
spark.stop(session)
print(json.dumps(told))
"""


@pytest.mark.parametrize(
    "master",
    ["local", "local[*]", "local[2]", "local-cluster[1,1,1024]", "spark://127.0.0.1:7077", "spark://localhost:7077"],
)
def test_the_driver_of_a_local_master_listens_on_loopback_only(master: str) -> None:
    assert is_local(master)
    assert listen_options(master) == {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


@pytest.mark.parametrize(
    "master",
    [
        "spark://head:7077",
        "spark://127.0.0.1.example.org:7077",
        "spark://127.0.0.1:7077,head:7077",
        "k8s://https://api:6443",
        "yarn",
    ],
)
def test_a_cluster_reaches_the_driver_where_spark_says(master: str) -> None:
    assert not is_local(master)
    assert listen_options(master) == {}
    (options,) = executor_options(master, Path("/a home/log4j")).values()
    assert "ParallelGC" in options
    assert "log4j" not in options


def test_executors_on_this_machine_hide_secrets_in_their_log() -> None:
    (options,) = executor_options("spark://127.0.0.1:7077", Path("/a home/log4j")).values()
    assert "-Dlog4j2.configurationFile=file:///a%20home/log4j" in options.split()
    assert executor_options("local[2]", Path("/a home/log4j")) == {}


@pytest.mark.spark
@pytest.mark.faults
def test_the_second_session_maps_the_classes_of_the_first(tmp_path: Path) -> None:
    """In a cache with a blank in its name, whose path is an option of the JVM, and a home with umlauts, which an ASCII
    locale does not have."""
    settings = isolated_settings(tmp_path / "a höme", LC_ALL="C")
    cache = own_cache(settings, tmp_path / "a cache")
    settings = Settings({**settings.env, "FRAZIL_CACHE": cache})
    env = settings.env
    archive = class_archive(settings, find_java(env))
    assert archive is not None
    assert archive.options() == []  # as a first start does
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", _PROGRAM], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "cds" not in done.stdout + done.stderr
        found = json.loads(done.stdout)
        assert found["count"] == 10
    assert any(path.startswith(f"{cache}/classes/spark-") for path in found["archives"])


@pytest.mark.spark
@pytest.mark.faults
def test_an_application_that_the_cluster_has_ended(tmp_path: Path) -> None:
    env = isolated_settings(tmp_path / "home", SPARK_MASTER="local[1]").env
    done = subprocess.run([sys.executable, "-c", _ENDED], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [False, True, True]


@pytest.mark.spark
def test_sparks_own_pages_are_on_loopback_where_they_are_wanted(
    tmp_path: Path, free_ports: Callable[[int], list[int]]
) -> None:
    port = str(free_ports(1)[0])
    env = isolated_settings(tmp_path / "home", SPARK_MASTER="local[1]", SPARK_UI_PORT=port).env
    done = subprocess.run([sys.executable, "-c", _PAGES], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["jobs"]
    assert {address.removeprefix("::ffff:") for address in told["addresses"]} == {"127.0.0.1"}


@pytest.mark.spark
@pytest.mark.faults
def test_a_master_that_does_not_answer(tmp_path: Path, free_ports: Callable[[int], list[int]]) -> None:
    """Spark tries for a minute."""
    master = f"spark://127.0.0.1:{free_ports(1)[0]}"
    env = isolated_settings(tmp_path / "home", SPARK_MASTER=master).env
    program = (
        "from frazil.environment.settings import Settings; from frazil.engine import spark; "
        "spark.start(Settings.load())"
    )
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"frazil.errors.StackError: Spark at SPARK_MASTER={master} did not start: ")
    assert last.endswith("the log above says what it answered.")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("x.password -> changeit, x -> 1", "x.password -> [hidden], x -> 1"),
        ('password="a\\"b;c" user="me"', 'password=[hidden] user="me"'),
        ('password="cut off', "password=[hidden]"),
        ("s3.secret-access-key=abc)", "s3.secret-access-key=[hidden])"),
        (
            'kafka.sasl.jaas.config -> org.x.PlainLoginModule required username="u" password="a;\\"b"; y -> 2',
            "kafka.sasl.jaas.config -> [hidden] y -> 2",
        ),
        ("Authorization: Bearer abc.def, x", "Authorization: [hidden], x"),
        ("header.x-api-key=abc ssl.key.passphrase=d", "header.x-api-key=[hidden] ssl.key.passphrase=[hidden]"),
        ("the password is not known", "the password is not known"),
    ],
)
def test_values_of_secret_keys_are_hidden(text: str, hidden: str) -> None:
    """Java and Python read the pattern in the same way."""
    assert re.sub(SECRET, r"\1[hidden]", text) == hidden


def test_traces_of_tasks_that_fail_are_for_those_who_ask() -> None:
    lines = log4j_properties().splitlines()
    for name in ("executor.Executor", "scheduler.TaskSetManager"):
        named = lines.index(next(line for line in lines if line.endswith(f".name = org.apache.spark.{name}")))
        assert lines[named + 1] == lines[named].partition(".name")[0] + ".level = off"


def test_the_pattern_is_in_the_layout_of_every_line() -> None:
    lines = log4j_properties().splitlines()
    (layout,) = [line for line in lines if line.startswith("appender.stderr.layout.pattern")]
    assert "%replace{%m%n%ex}{" + SECRET.replace("\\", "\\\\") + "}{$1[hidden]}" in layout
    assert not {"{", "}"} & set(SECRET), "Log4j would end the pattern there"
    assert "logger.http0.filter.least.level = info" in lines
