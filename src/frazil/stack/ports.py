"""TCP ports on the loopback interface: which are taken, by whom, and which are free."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection
from dataclasses import dataclass

import psutil

from frazil.config.settings import LOOPBACK
from frazil.errors import PortTaken, StackError

# Below the range that operating systems hand out to outgoing connections, so that a remembered port stays free.
_SEARCHED = range(20000, 30000)


@dataclass(frozen=True)
class Port:
    """A port that a service listens on, and the environment variable that moves it."""

    number: int
    variable: str


def is_taken(port: int) -> bool:
    """True when something listens on the port or the port cannot be bound."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        if probe.connect_ex((LOOPBACK, port)) == 0:
            return True
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


def holder(port: int) -> str:
    """Name and process id of who listens on the port, as far as the operating system tells; else empty."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:  # macOS tells only the superuser
        return ""
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN and connection.laddr[1:2] == (port,) and connection.pid:
            try:
                return f"{psutil.Process(connection.pid).name()}, process {connection.pid}"
            except psutil.NoSuchProcess:
                return ""
    return ""


def require_free(service: str, ports: Collection[Port]) -> None:
    """Raise PortTaken for the first port that is in use, naming its holder and the variable that moves it."""
    for port in ports:
        if is_taken(port.number):
            who = holder(port.number)
            raise PortTaken(
                f"{service} needs port {port.number} on {LOOPBACK}, which is taken{f' by {who}' if who else ''}. "
                f"{service} was not started. Stop that process, or set {port.variable} to another port, and try again."
            )


def listening(process: psutil.Process) -> set[int]:
    """Ports that a process and its children listen on."""
    ports: set[int] = set()
    for member in [process, *process.children(recursive=True)]:
        try:
            connections = member.net_connections(kind="tcp")
        except psutil.NoSuchProcess:
            continue
        ports.update(c.laddr[1] for c in connections if c.status == psutil.CONN_LISTEN and c.laddr)
    return ports


def unused(count: int, *, avoid: Collection[int] = (), grpc_offset: int = 0) -> list[int]:
    """Different free ports, chosen at random from 20000 to 29999 so that two homes hardly ever choose the same.

    With `grpc_offset` the port that far above each of them is free as well. Raises StackError when there are too few.
    """
    chosen: list[int] = []
    for port in random.sample(_SEARCHED, len(_SEARCHED)):
        if len(chosen) == count:
            break
        needed = {port, port + grpc_offset}
        if needed.isdisjoint(avoid) and not any(map(is_taken, needed)):
            chosen.append(port)
    if len(chosen) < count:
        raise StackError(f"fewer than {count} free ports between {_SEARCHED.start} and {_SEARCHED.stop}")
    return chosen
