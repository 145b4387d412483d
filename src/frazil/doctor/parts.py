"""The parts: services of this home, Kafka, the catalog, and the worker."""

from collections.abc import Iterator

from frazil.clients.catalog import connect
from frazil.clients.connect import ConnectClient
from frazil.clients.kafka.client import admin, cluster_id
from frazil.clients.kafka.topics import partitions_of, topics
from frazil.connectors.keys.versions import VERSION
from frazil.doctor.finding import Finding, Look
from frazil.stack.ports import holder, is_taken
from frazil.stack.service import Status
from frazil.text.amounts import counted

_OURS = "frazil-"
_TOLD = {Status.DIED: "it has died"}


def services(look: Look) -> Iterator[Finding]:
    """Services of the home, and the ports of those that do not run."""
    for service in look.services:
        state = service.state()
        if state.status is Status.RUNNING:
            yield Finding(service.name, "ok", f"it runs as process {state.pid}")
            continue
        why = f": {state.reason}" if state.reason else ""
        taken = [port for port in service.ports if state.status is Status.STOPPED and is_taken(port.number)]
        for port in taken:
            moved = f", or move the port with {port.variable}" if port.variable else ""
            yield Finding(
                service.name,
                "problem",
                f"its port {port.number} is used by {holder(port.number) or 'another program'}",
                "it cannot start",
                f"if it is a stack of yours, name its home with FRAZIL_HOME; else stop that program{moved}",
            )
        if not taken:
            cure = f"`start {service.name}`; `logs {service.name}` says what happened"
            yield Finding(
                service.name,
                "problem",
                f"{_TOLD.get(state.status, f'it is {state.status.value}')}{why}",
                "what needs it waits",
                cure,
            )


def kafka(look: Look) -> Iterator[Finding]:
    """The login to the cluster, its brokers, and partitions that are not all there."""
    servers = look.settings.bootstrap_servers
    identity = cluster_id(servers)
    brokers = len(admin(servers).list_topics(timeout=10).brokers)
    yield Finding("kafka", "ok", f"cluster {identity} at {servers} has {counted(brokers, 'broker')}")
    for name, partitions in partitions_of(servers, topics(servers)).items():
        dead = [one.number for one in partitions if one.leader is None]
        behind = [one.number for one in partitions if len(one.in_sync) < len(one.replicas)]
        if dead:
            yield Finding(
                "kafka",
                "problem",
                f"partitions {', '.join(map(str, dead))} of {name} have no leader",
                "nothing of them is read or written",
                "start the brokers that hold them",
            )
        elif behind:
            yield Finding(
                "kafka",
                "warning",
                f"partitions {', '.join(map(str, behind))} of {name} have copies that are behind",
                "records may be lost when one more broker fails",
                "look at the brokers that hold them",
            )


def catalog(look: Look) -> Iterator[Finding]:
    """The catalog of `query` and `sql`, which connectors without one of their own use as well."""
    namespaces = connect(look.settings.catalog_properties()).list_namespaces()
    yield Finding("catalog", "ok", f"{look.settings.catalog_uri} answers, with {counted(len(namespaces), 'namespace')}")


def worker(look: Look) -> Iterator[Finding]:
    """The worker's release beside this one, and its connectors."""
    access = look.settings.connect_access
    with ConnectClient(access) as client:
        commit = str(client.root().get("commit", ""))
    if commit.startswith(_OURS) and commit != f"{_OURS}{VERSION}":
        yield Finding(
            "worker",
            "warning",
            f"the worker at {access.url} is release {commit.removeprefix(_OURS)}, and this program {VERSION}",
            "verbs may not know what the worker does",
            "`restart worker`, or use the program of its release",
        )
    else:
        yield Finding("worker", "ok", f"{access.url} answers, with {counted(len(look.connectors), 'connector')}")
