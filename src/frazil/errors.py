"""Every error that frazil raises, in one tree.

FrazilError
├── TransientError            the same call may succeed when it is tried again
│   ├── ServiceUnavailable    broker, object store, catalog or worker does not answer
│   │   ├── StackUnavailable  a part of the embedded stack, which `start` starts
│   │   └── StoreUnavailable  the store of an object sink does not take objects
│   ├── PartitionsAdded       topics or partitions came that a running connector does not know
│   ├── Rebalancing           the workers of a group are about to settle who does what
│   ├── CommitConflict        another writer moved the branch; nothing was written to the table
│   └── CommitStateUnknown    the catalog did not say whether the commit was applied
└── TerminalError             trying again changes nothing
    ├── UsageError            a wrong argument on the command line
    │   └── NotComparable     what a connector stores cannot be compared with its topics
    ├── ConfigError           a wrong key or value in a connector, an environment variable or a file
    │   └── NotReplayable     dead letters of a connector of this kind cannot be stored after all
    ├── StackError            a part of the embedded stack cannot run
    │   ├── PortTaken
    │   ├── JavaNotFound
    │   └── ServiceDied
    ├── NotFound              a connector, table or topic that does not exist
    ├── AlreadyExists         a connector that exists already
    ├── QueryError            a SQL statement that cannot be answered
    ├── BadRecord             a record that cannot be stored, with `errors.tolerance=none`
    ├── PositionLost          the stored position is not in the topic any more
    └── Fenced                another worker has taken over the connector

A message says what happened, what state is left, and what to do next.
"""


class FrazilError(Exception):
    """Root of all errors raised by frazil."""


class TransientError(FrazilError):
    """A call failed that may succeed when it is tried again."""


class ServiceUnavailable(TransientError):
    """Broker, object store, catalog or worker does not answer."""


class StackUnavailable(ServiceUnavailable):
    """A part of the embedded stack does not answer, which `start` starts."""


class StoreUnavailable(ServiceUnavailable):
    """The store of an object sink does not take objects."""


class PartitionsAdded(TransientError):
    """Topics or partitions came that a running connector does not know; it starts again with them."""


class Rebalancing(TransientError):
    """The workers of a group are about to settle who does what; nothing was changed."""


class CommitConflict(TransientError):
    """Another writer moved the branch; nothing was written to the table."""


class CommitStateUnknown(TransientError):
    """The catalog did not say whether the commit was applied."""


class TerminalError(FrazilError):
    """Trying again changes nothing."""


class UsageError(TerminalError):
    """A wrong argument on the command line; exit code 2."""


class NotComparable(UsageError):
    """A connector is of a kind whose records cannot be compared with what it stores; nothing was compared."""


class ConfigError(TerminalError):
    """A wrong key or value in a connector, an environment variable or a file."""


class NotReplayable(ConfigError):
    """A connector is of a kind whose dead letters cannot be stored after all; they stay open."""


class StackError(TerminalError):
    """A part of the embedded stack cannot run."""


class PortTaken(StackError):
    """A port that a service needs is used by another process."""


class JavaNotFound(StackError):
    """No Java that a service runs on can be found."""


class ServiceDied(StackError):
    """A service ended while it was starting."""


class NotFound(TerminalError):
    """A connector, table or topic does not exist."""


class AlreadyExists(TerminalError):
    """A connector of that name exists already."""


class QueryError(TerminalError):
    """A SQL statement cannot be answered."""


class BadRecord(TerminalError):
    """A record cannot be stored and `errors.tolerance` is `none`."""


def tells_ways_on(reason: str) -> bool:
    """Whether the reason of a failure is a BadRecord's, which tells itself what can be done."""
    return f"{BadRecord.__name__}: " in reason


class PositionLost(TerminalError):
    """The stored position is not in the topic any more."""


class Fenced(TerminalError):
    """Another worker has taken over the connector."""
