"""What other users of the machine can get from a worker that runs."""

from __future__ import annotations

import socket
import stat
import struct

import psutil
import pytest

from frazil.stack.local import LocalStack
from tests.harness import Worker

pytestmark = pytest.mark.spark


def test_a_stranger_cannot_speak_with_the_driver(worker: Worker) -> None:
    """With all ports of its JVM: Spark asks for the secret, which is on no command line."""
    everybody = [psutil.Process(worker.pid), *psutil.Process(worker.pid).children(recursive=True)]
    family = [process for process in everybody if process.status() != psutil.STATUS_ZOMBIE]
    (jvm,) = (process for process in family if process.name() == "java")
    request = struct.pack(">BqI", 3, 1, 4) + bytes(4)  # an RPC of four bytes, as Spark's transport frames it
    answers = []
    for port in {each.laddr.port for each in jvm.net_connections() if each.status == psutil.CONN_LISTEN}:
        with socket.create_connection(("127.0.0.1", port), 10) as stranger:
            stranger.settimeout(2)
            stranger.sendall(struct.pack(">q", 8 + len(request)) + request)
            try:
                answers.append(stranger.recv(1 << 16).decode("latin-1"))
            except TimeoutError:
                answers.append("")  # py4j waits for the end of the line, which has to be its token
    assert sum("Expected SaslMessage" in answer for answer in answers) == 2  # the driver and its block manager
    assert "StreamCorrupted" not in "".join(answers)
    assert not any("spark.authenticate" in argument for process in family for argument in process.cmdline())


def test_nobody_else_reads_a_home(worker: Worker, stack: LocalStack) -> None:
    for home, made in ((worker.settings.home, "worker"), (stack.settings.home, "data")):
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        files = [path for path in (home / made).rglob("*") if stat.S_ISREG(path.lstat().st_mode)]
        assert files
        records = [path for path in files if path.suffix != ".vif"]  # SeaweedFS gives these notes a mode of its own
        assert [path for path in records if path.lstat().st_mode & 0o066] == []  # Spark lets jars be executed
