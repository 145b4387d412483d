"""The embedded stack of one home folder: those parts that are not somebody else's."""

import shutil
from collections.abc import Callable

from frazil.environment.settings import Settings
from frazil.errors import StackError
from frazil.stack.dual import dual_services
from frazil.stack.kafka import kafka_service
from frazil.stack.postgres import remove_data
from frazil.stack.process import ProcessFile
from frazil.stack.seaweedfs import seaweedfs_service
from frazil.stack.service import Progress, Service, start_all

# What frazil writes into a home; `clean` removes these and nothing else that a user may keep there.
OWNED = ("conf", "data", "java", "logs", "plugins", "run", "spark", "sql_history", "worker")
"""Names in a home that are of ours."""


class LocalStack:
    """Object store with catalog, and broker, as `settings` places them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def services(self) -> list[Service]:
        """Services in the order of their start; a part with an external address is not among them."""
        stores = [] if self.settings.s3_external else self._stores()
        return stores if self.settings.kafka_external else [*stores, kafka_service(self.settings)]

    def embedded(self) -> list[Service]:
        """Services that can be embedded, also those that are external now but may still run from before."""
        return [*self._stores(), kafka_service(self.settings)]

    def _stores(self) -> list[Service]:
        return dual_services(self.settings) if self.settings.dual else [seaweedfs_service(self.settings)]

    def start(
        self,
        progress: Progress,
        on_ready: Callable[[Service, bool, float], None] = lambda service, started, seconds: None,
    ) -> None:
        """Start what does not run yet. Raises StackError; see `start_all`."""
        start_all(self.services(), progress, on_ready)

    def stop(self) -> None:
        """Stop everything, last started first; what does not run is passed over."""
        for service in reversed(self.embedded()):
            service.stop()

    def clean(self) -> None:
        """Remove all data, logs and configuration of this home. Downloads in the cache stay.

        Raises StackError, having removed nothing, when any service of this home still runs.
        """
        home = self.settings.home
        for path in sorted((home / "run").glob("*.json")):
            if ProcessFile(path).find():
                raise StackError(f"{path.stem} still runs, so nothing was removed. Stop it first, then clean again.")
        remove_data(self.settings)
        for name in OWNED:
            path = home / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        if home.exists() and not any(home.iterdir()):
            home.rmdir()
