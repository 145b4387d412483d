"""The look at everything: all checks in order, each for itself."""

from collections.abc import Callable, Iterator, Mapping

from frazil.doctor import connectors, machine, parts
from frazil.doctor.finding import Check, Finding, Look
from frazil.errors import FrazilError

CHECKS: Mapping[str, Check] = {
    "versions": machine.versions,
    "memory": machine.memory,
    "disk": machine.disk,
    "open files": machine.open_files,
    "services": parts.services,
    "clock": machine.clock,
    "kafka": parts.kafka,
    "catalog": parts.catalog,
    "worker": parts.worker,
    "connectors": connectors.connectors,
}


def examine(look: Look, say: Callable[[str], None] = lambda text: None) -> Iterator[Finding]:
    """Look at everything; `say` gets the name of each step. Texts have no secret of a configuration in them."""
    store = look.settings.store_service
    # services of the home without which a check would say once more that they do not run
    needs = {"kafka": "kafka", "catalog": store, "clock": store, "worker": "worker"}
    down: set[str] = set()
    for name, check in CHECKS.items():
        if needs.get(name) in down:
            continue
        say(name)
        try:
            for finding in check(look):
                if name == "services" and finding.level == "problem":
                    down.add(finding.part)
                yield finding
        except FrazilError as error:
            yield Finding(name, "problem", look.providers.hide(str(error)))
