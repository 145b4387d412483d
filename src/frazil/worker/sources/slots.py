"""Replication slots of source connectors: what PostgreSQL keeps for them."""

import logging
import threading
from collections.abc import Callable, Mapping

from frazil.clients.postgres import Slot, replication_slot
from frazil.connectors.debezium_slot import slot_of
from frazil.errors import FrazilError

logger = logging.getLogger(__name__)

_EVERY_S = 30.0
_TIMEOUT_S = 5

Configs = Mapping[str, Mapping[str, str]]
Look = Callable[[Mapping[str, object], str, int], Slot | None]


class Slots:
    """Looks at the slots of all connectors for PostgreSQL now and then, in a thread of its own.

    `seen` has what was found last, by connector and name of the slot; None for one that is not there or whose database
    does not tell.
    """

    def __init__(
        self,
        configs: Callable[[], Configs],
        resolve: Callable[[Mapping[str, str]], Mapping[str, str]],
        look: Look = replication_slot,
    ) -> None:
        """`configs` are those of the source connectors that this worker is to look after; `resolve` puts values in the
        place of placeholders."""
        self.seen: Mapping[tuple[str, str], Slot | None] = {}
        self._configs = configs
        self._resolve = resolve
        self._look_at = look
        self._told: dict[str, str] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="slots", daemon=True)

    def start(self) -> None:
        """Begin; returns at once."""
        self._thread.start()

    def close(self) -> None:
        """End, after the look that is under way."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(_TIMEOUT_S)

    def look(self) -> None:
        """Look at all of them once."""
        found: dict[tuple[str, str], Slot | None] = {}
        for name, config in self._configs().items():
            place = slot_of(config)
            if place is None:
                continue
            slot = place[1]
            try:
                access, slot = slot_of(self._resolve(config)) or place
                found[name, slot] = self._look_at(access, slot, _TIMEOUT_S)
            except FrazilError as error:
                found[name, slot] = None
                self._tell(name, f"the slot {slot} of connector {name} is not known: {error}")
            else:
                self._told.pop(name, None)
        self.seen = found

    def _tell(self, name: str, reason: str) -> None:
        """Log a reason when it is another one than before."""
        if self._told.get(name) != reason:
            self._told[name] = reason
            logger.warning("%s", reason)

    def _watch(self) -> None:
        while not self._closing.wait(_EVERY_S):
            try:
                self.look()
            except Exception:
                logger.exception("the slots of source connectors could not be looked at; they are tried again")
