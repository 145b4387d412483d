"""Refusals of all connectors with a statement, wherever its rows go."""

from frazil.errors import ConfigError, UsageError


def no_verify(connector: str) -> UsageError:
    """Refuse a comparison of topics with rows."""
    return UsageError(
        f"rows of {connector} are those of its statement, which differ from its records; nothing was compared"
    )


def no_replay(connector: str) -> ConfigError:
    """Refuse to store dead letters later."""
    return ConfigError(
        f"dead letters of {connector} cannot be replayed: the tables that its statement joins may differ by now. They "
        "stay open. Produce each correct record to its topic again, then drop them."
    )
