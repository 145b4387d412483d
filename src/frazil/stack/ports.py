"""TCP ports on the loopback interface: which are taken, by whom, and which are free."""

import os
import random
import socket
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import psutil

from frazil.environment.settings import LOOPBACK
from frazil.errors import ConfigError, PortTaken, StackError

# All below 32768, where the range begins that Linux hands out to outgoing connections: a chosen port stays free.
_SEARCHED = range(20000, 30000)
_BELOW = 32768
_HELD = 256

_held: deque[int] = deque()
_chance = random.SystemRandom()


@dataclass(frozen=True)
class Port:
    """A port that a service listens on, and the environment variable that moves it, where one does."""

    number: int
    variable: str = ""


def is_taken(port: int) -> bool:
    """Whether something listens on the port, or the port cannot be bound."""
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


def require_free(wanted: Iterable[tuple[str, Collection[Port]]]) -> None:
    """Raise PortTaken for ports of services that are in use, naming all with holder and the variable that moves it."""
    taken = [(service, port) for service, ports in wanted for port in ports if is_taken(port.number)]
    if taken:
        raise PortTaken("\n".join(_told(service, port) for service, port in taken))


def _told(service: str, port: Port) -> str:
    who = holder(port.number)
    moved = f", or set {port.variable} to another port," if port.variable else ""
    return (
        f"{service} needs port {port.number} on {LOOPBACK}, which is taken{f' by {who}' if who else ''}. "
        f"{service} was not started. If it is a stack of yours, name its home with FRAZIL_HOME; else stop that "
        f"process{moved} and try again."
    )


def require_different(ports: Iterable[Port]) -> None:
    """Raise ConfigError for two variables that name the same port."""
    variables: dict[int, str] = {}
    for port in ports:
        other = variables.setdefault(port.number, port.variable)
        if other != port.variable:
            raise ConfigError(
                f"{other} and {port.variable} are both {port.number}, and only one service can listen on a port. "
                "Nothing was started. Set one of them to another port and try again."
            )


def listening(process: psutil.Process) -> set[int]:
    """Ports that a process and its children listen on."""
    ports: set[int] = set()
    for member in [process, *process.children(recursive=True)]:
        try:
            connections = member.net_connections(kind="tcp")
        except (
            psutil.NoSuchProcess,
            psutil.AccessDenied,
        ):  # it has ended; until it is reaped, only root may look at it
            continue
        ports.update(c.laddr[1] for c in connections if c.status == psutil.CONN_LISTEN and c.laddr)
    return ports


def unused(count: int, *, avoid: Collection[int] = (), grpc_offset: int = 0) -> list[int]:
    """Different free ports, chosen at random from 20000 to 29999; another process that chooses at the same time gets
    others.

    With `grpc_offset` the port that far above each of them is free and below 32768 as well, and they come from that
    far below. Raises StackError when there are too few.
    """
    searched = range(_SEARCHED.start - grpc_offset, min(_SEARCHED.stop, _BELOW - grpc_offset))
    chosen: list[int] = []
    for port in _chance.sample(searched, len(searched)):
        if len(chosen) == count:
            break
        needed = {port, port + grpc_offset}
        if needed.isdisjoint(avoid) and not any(map(is_taken, needed)) and all(map(_hold, needed)):
            chosen.append(port)
    if len(chosen) < count:
        raise StackError(f"fewer than {count} free ports between {searched.start} and {searched.stop}")
    return chosen


def _hold(port: int) -> bool:
    """Take the UDP port of that number, which nothing here uses, until this process ends or has chosen many more.

    Whoever chose a port needs seconds until something listens on it; False when another process has chosen it.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        try:
            server.bind((LOOPBACK, port))
        except OSError:
            return False
        _held.append(server.detach())
    if len(_held) > _HELD:
        os.close(_held.popleft())
    return True
