from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Iterator

import psutil
import pytest

from frazil.environment.settings import LOOPBACK
from frazil.errors import ConfigError, PortTaken, StackError
from frazil.stack import ports
from frazil.stack.ports import Port


@pytest.fixture(params=[LOOPBACK, ""])
def listener(request: pytest.FixtureRequest) -> Iterator[int]:
    """A port that this process listens on, on loopback or on all interfaces."""
    with socket.create_server((request.param, 0)) as server:
        yield server.getsockname()[1]


def test_a_listener_takes_its_port(listener: int) -> None:
    assert ports.is_taken(listener)


def test_a_bound_port_is_taken_before_it_listens() -> None:
    with socket.socket() as server:
        server.bind((LOOPBACK, 0))
        assert ports.is_taken(server.getsockname()[1])


def test_unused_ports_are_free_and_different() -> None:
    found = ports.unused(5, grpc_offset=10000)
    assert len(set(found)) == 5
    assert not any(ports.is_taken(port) or ports.is_taken(port + 10000) for port in found)


def test_ports_between_parts_of_a_service_are_not_those_of_outgoing_connections() -> None:
    assert all(10000 <= port < 22768 for port in ports.unused(5, grpc_offset=10000))


def test_two_processes_choose_different_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_SEARCHED", range(25000, 25040))
    other = (
        "from frazil.stack import ports\n"
        "ports._SEARCHED = range(25000, 25040)\n"
        "print(ports.unused(15), flush=True)\n"
        "input()"
    )
    with subprocess.Popen([sys.executable, "-c", other], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        theirs = json.loads(process.stdout.readline())
        mine = ports.unused(15)
        assert set(mine).isdisjoint(theirs)
        process.communicate(b"\n")


def test_a_process_that_chooses_very_often_holds_few(monkeypatch: pytest.MonkeyPatch) -> None:
    held: deque[int] = deque()
    monkeypatch.setattr(ports, "_held", held)
    monkeypatch.setattr(ports, "_HELD", 3)
    for _ in range(4):
        ports.unused(2)
    assert len(held) == 3
    for descriptor in held:
        os.close(descriptor)


def test_unused_avoids_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_SEARCHED", range(20000, 20002))
    monkeypatch.setattr(ports, "is_taken", lambda port: False)
    monkeypatch.setattr(ports, "_hold", lambda port: True)
    assert ports.unused(1, avoid={20001}) == [20000]
    with pytest.raises(StackError, match="fewer than 2 free ports"):
        ports.unused(2, avoid={20001})


def test_message_names_port_holder_and_variable(listener: int) -> None:
    with pytest.raises(PortTaken) as caught:
        ports.require_free([("kafka", [Port(listener, "KAFKA_EXTERNAL_PORT")]), ("worker", [Port(listener, "B")])])
    message = str(caught.value)
    assert f"kafka needs port {listener}" in message
    assert f"process {os.getpid()}" in message
    assert "set KAFKA_EXTERNAL_PORT" in message
    assert message.splitlines()[1].startswith(f"worker needs port {listener}") and "set B to" in message


def test_listening_tells_the_ports_of_a_process(listener: int) -> None:
    assert listener in ports.listening(psutil.Process())


def test_two_variables_with_the_same_port_are_named() -> None:
    ports.require_different([Port(1, "A"), Port(2, "B"), Port(1, "A")])
    with pytest.raises(ConfigError, match="^A and C are both 1, .* Nothing was started"):
        ports.require_different([Port(1, "A"), Port(2, "B"), Port(1, "C")])


def test_a_child_that_has_ended_hides_no_port_from_a_user_without_rights() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        user = os.fork()
        if user == 0:
            found: set[int] = set()
            try:
                if os.getuid() == 0:
                    os.setuid(65534)
                    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE, as after an exec
                ended = os.fork() or os._exit(0)
                os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
                found = ports.listening(psutil.Process())
            finally:
                os._exit(0 if port in found else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(user, 0)[1]) == 0
