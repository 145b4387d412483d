"""Replays the dead letters of all connectors, chunk by chunk, and marks what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from frazil.clients.credentials import with_credentials
from frazil.connectors.iceberg.config.iceberg_sink import iceberg_sink_config
from frazil.connectors.iceberg.tools.replay import Outcome, Replayer, chunks
from frazil.connectors.registry import connector_of
from frazil.declare.providers import ConfigProviders
from frazil.declare.secrets import hide_secrets
from frazil.environment.settings import Settings
from frazil.errors import ConfigError, NotFound, TerminalError
from frazil.pipeline.letters.letter import Letter
from frazil.pipeline.letters.log import LetterLog, Queue
from frazil.pipeline.letters.ranges import by_partition

ConfigOf = Callable[[str], Mapping[str, str]]
"""The configuration of a connector by its name; raises NotFound or ServiceUnavailable."""


def replay_all(
    settings: Settings,
    config_of: ConfigOf,
    log: LetterLog,
    queues: Sequence[Queue],
    letters: Iterable[Letter],
    *,
    dry_run: bool,
) -> Iterator[Outcome]:
    """Replay open dead letters of the queues; the markers of a chunk are written before its outcomes are told.

    The dead letters of a connector that cannot run stay open, with the reason. Raises a TransientError when a service
    fails; what was told before is done, and the same call may be repeated. With `dry_run` nothing is changed.
    """
    replayers: dict[str, Replayer] = {}
    for chunk in chunks(letters):
        by_connector: dict[str, list[Letter]] = {}
        for letter in chunk:
            by_connector.setdefault(letter.connector, []).append(letter)
        for name, several in by_connector.items():
            try:
                if name not in replayers:
                    replayers[name] = _replayer(settings, config_of, name, queues, dry_run=dry_run)
                outcomes = replayers[name].replay(several)
            except TerminalError as error:
                outcomes = [Outcome(letter, "fails", str(error)) for letter in several]
            closed = [outcome.letter.position for outcome in outcomes if outcome.closed]
            if closed and not dry_run:
                log.close(queues, by_partition(closed), "replayed")
            yield from outcomes


def _replayer(
    settings: Settings, config_of: ConfigOf, name: str, queues: Sequence[Queue], *, dry_run: bool
) -> Replayer:
    if not name:
        raise NotFound("it does not tell its connector (no __connect.errors.* headers)")
    resolved = ConfigProviders.load(settings.config_providers, settings.env).resolve(config_of(name))
    if "Iceberg" not in connector_of(resolved.config).simple_name:
        raise ConfigError(f"dead letters of {name} cannot be replayed, for it is no sink of tables; nothing was done")
    try:
        config = iceberg_sink_config({**resolved.config, "name": name})
    except ConfigError as error:
        raise ConfigError(hide_secrets(str(error), resolved.config, resolved.secrets)) from None
    return Replayer(
        replace(config, catalog_properties=with_credentials(config.catalog_properties, settings)),
        settings.bootstrap_servers.overridden(resolved.config),
        config.mapper_for,
        queues,
        dry_run=dry_run,
    )
