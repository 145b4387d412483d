"""nginx before the S3 gateways of an embedded store, by the configuration that `deploy/nginx/` has for clusters."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import StackError
from frazil.stack.ports import Port
from frazil.stack.service import Service, embedded

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def nginx_service(
    settings: Settings, role: str, behind: Mapping[str, tuple[Port, Sequence[int]]], ready: Callable[[], str | None]
) -> Service:
    """nginx of a store; `behind` has by protocol the port that it listens on and those of the gateways."""
    return embedded(settings)(
        name=f"nginx-{role}",
        command=lambda progress: _command(settings, role, behind),
        ready=ready,
        ports=tuple(port for port, _ in behind.values()),
    )


def find_nginx(env: Mapping[str, str]) -> str:
    """Path of the program. Raises StackError where it is missing."""
    found = shutil.which("nginx", path=f"{env.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise StackError(
            "the program nginx is neither on the PATH nor in /usr/sbin, and two stores stand behind one each. Nothing "
            "was started. Install the package nginx of your system and try again."
        )
    return found


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(  # noqa: S701 - no page for browsers
        loader=PackageLoader("frazil.stack", "."), undefined=StrictUndefined, keep_trailing_newline=True
    )


def configuration(role: str, signed: Mapping[str, tuple[str, Sequence[str]]], consoles: Sequence[str] = ()) -> str:
    """The servers of a store: `signed` has by the name of a protocol what nginx listens on and the addresses of the
    gateways, `consoles` those of consoles for browsers."""
    return _templates().get_template("nginx.conf.j2").render(role=role, signed=signed, consoles=consoles)


def _command(settings: Settings, role: str, behind: Mapping[str, tuple[Port, Sequence[int]]]) -> Sequence[str]:
    program = find_nginx(settings.env)
    folder = settings.home / "run" / f"nginx-{role}"
    folder.mkdir(parents=True, exist_ok=True)
    servers = configuration(
        role,
        {
            protocol: (f"{LOOPBACK}:{front.number}", [f"{LOOPBACK}:{port}" for port in ports])
            for protocol, (front, ports) in behind.items()
        },
    )
    path = settings.home / "conf" / f"nginx-{role}.conf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(whole(folder, servers))
    return [program, "-c", str(path), "-e", "stderr"]


def whole(folder: Path, servers: str) -> str:
    """A configuration of nginx in the foreground, with its files in `folder`."""
    # its processes would else be another user's, who cannot enter a home of root's
    user = "user root;" if os.geteuid() == 0 else ""
    temporary = "".join(f"  {kind}_temp_path {_quoted(folder / kind)};\n" for kind in _TEMPORARY)
    return (
        f"daemon off; worker_processes 1; {user} pid {_quoted(folder / 'pid')}; error_log stderr warn;\n"
        f"events {{}}\nhttp {{\n  access_log off;\n{temporary}{servers}}}\n"
    )


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
