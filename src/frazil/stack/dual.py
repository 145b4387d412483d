"""The embedded stack of a source and a destination: two object stores, each several S3 gateways behind nginx.

The destination serves the catalog too. Ports between the parts are chosen once, when the home gets two stores.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypedDict

from frazil.environment.private_file import private_home, write_private
from frazil.environment.settings import LOOPBACK, Settings
from frazil.errors import ConfigError, StackError
from frazil.stack.answer import unanswered
from frazil.stack.nginx import find_nginx, nginx_service
from frazil.stack.ports import Port, unused
from frazil.stack.seaweedfs import GRPC_OFFSET, PARTS, check_bucket, mini, missing, sockets, weed, write_identities
from frazil.stack.service import Progress, Service, embedded

ROLES = ("source", "dest")
GATEWAYS = 4
NAMES = frozenset(
    name
    for role in ROLES
    for name in (role, f"nginx-{role}", *(f"{role}{number}" for number in range(1, GATEWAYS + 1)))
)
"""Names of the services of both stores."""


class _Ports(TypedDict):
    """Ports inside of one store: its parts, and S3 and catalog of its own and of each gateway."""

    parts: dict[str, int]
    own: tuple[int, int]
    gateways: list[tuple[int, int]]


def make_dual(settings: Settings) -> Settings:
    """Make a home one of two stores, and return its settings. Raises ConfigError for one that has a store already, or
    whose store is somebody else's, and StackError without nginx."""
    if settings.s3_external:
        raise ConfigError(
            "--dual starts both stores, and MINIO_ENDPOINT names one of yours. Nothing was started. Unset it."
        )
    if settings.dual:
        return settings
    if (settings.home / "data" / "seaweedfs").exists():
        raise ConfigError(
            f"{settings.home} has one store already, whose connectors and tables know its address. Nothing was "
            "started. Name another home with FRAZIL_HOME, or remove the data of this one with `clean`."
        )
    find_nginx(settings.env)
    avoid = {settings.source_port, settings.s3_port, settings.catalog_port}
    # each part and gateway has another port above its own
    numbers = iter(unused(len(ROLES) * (len(PARTS) + 2 + 2 * GATEWAYS), avoid=avoid, grpc_offset=GRPC_OFFSET))
    ports: dict[str, _Ports] = {
        role: {
            "parts": {part: next(numbers) for part in PARTS},
            "own": (next(numbers), next(numbers)),
            "gateways": [(next(numbers), next(numbers)) for _ in range(GATEWAYS)],
        }
        for role in ROLES
    }
    private_home(settings.home)
    write_private(settings.dual_file, json.dumps(ports))
    return Settings(settings.env, settings.remarks)


def dual_services(settings: Settings) -> list[Service]:
    """Both stores in the order of their start, each with its gateways and nginx."""
    try:
        ports: dict[str, _Ports] = json.loads(settings.dual_file.read_text())
        return [service for role in ROLES for service in _store(settings, role, ports[role])]
    except (ValueError, KeyError) as error:
        raise StackError(f"{settings.dual_file} is damaged ({error!r}); restore it, or remove the home") from None


def _store(settings: Settings, role: str, ports: _Ports) -> list[Service]:
    catalog = role == "dest"
    front = Port(settings.s3_port, "DEST_API_PORT") if catalog else Port(settings.source_port, "SOURCE_API_PORT")
    behind = {"s3": (front, [s3 for s3, _ in ports["gateways"]])}
    catalog_port = None
    if catalog:
        catalog_port = settings.catalog_port
        own = Port(catalog_port, "ICEBERG_CATALOG_PORT")
        behind["catalog"] = (own, [port for _, port in ports["gateways"]])
    service = embedded(settings)
    filer = ports["parts"]["filer"]
    return [
        service(
            name=role,
            command=lambda progress: _filer(settings, role, ports),
            ready=partial(unanswered, f"http://{LOOPBACK}:{filer}/healthz"),
            ports=tuple(map(Port, ports["parts"].values())),
        ),
        *(
            service(
                name=f"{role}{number}",
                command=_gateway(settings, role, number, filer, s3, iceberg if catalog else 0),
                ready=partial(missing, settings, s3, iceberg if catalog else None),
                ports=(Port(s3), Port(iceberg)) if catalog else (Port(s3),),
            )
            for number, (s3, iceberg) in enumerate(ports["gateways"], 1)
        ),
        nginx_service(settings, role, behind, partial(missing, settings, front.number, catalog_port)),
    ]


def _filer(settings: Settings, role: str, ports: _Ports) -> list[str]:
    """A store; the destination makes the table bucket where it has S3 and catalog of its own, which no client asks."""
    options: Mapping[str, object] = {"s3": "false"}
    if role == "dest":
        check_bucket(settings.warehouse)
        s3, catalog = ports["own"]
        options = {
            "tableBucket": settings.warehouse,
            "s3.port": s3,
            "s3.port.grpc": s3 + GRPC_OFFSET,
            "s3.port.iceberg": catalog,
        }
    return mini(settings, role, ports["parts"], options)


def _gateway(
    settings: Settings, role: str, number: int, filer: int, s3: int, iceberg: int
) -> Callable[[Progress], list[str]]:
    return lambda progress: weed(
        "s3",
        {
            "filer": f"{LOOPBACK}:{filer}.{filer + GRPC_OFFSET}",
            "ip.bind": LOOPBACK,
            "config": write_identities(settings),
            "port": s3,
            "port.grpc": s3 + GRPC_OFFSET,
            "port.iceberg": iceberg,
            "port.lance": 0,
            **sockets(settings.home / "run", {"localSocket": f"{role}{number}"}),
        },
    )
