"""Meaning of the object store's errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from frazil.errors import ConfigError, ServiceUnavailable

_REFUSALS = (
    "ACCESS_DENIED",
    "INVALID_ACCESS_KEY_ID",
    "INVALID_CLIENT_TOKEN_ID",
    "INVALID_SIGNATURE",
    "SIGNATURE_DOES_NOT_MATCH",
    "NO_SUCH_BUCKET",
)
"""Names of the AWS SDK, which Arrow puts into its messages."""


def refuses(error: OSError) -> bool:
    """Whether the store will answer the same way until bucket or access keys are corrected."""
    return any(f"AWS Error {name}" in str(error) for name in _REFUSALS)


@contextmanager
def store_errors(
    place: str,
    verbs: tuple[str, str] = ("refused", "did not answer for"),
    left: str = "Nothing was committed",
    cure: str = ", then restart the connector.",
    again: str = "the batch is read again.",
) -> Iterator[None]:
    """Raise ConfigError for access that the store refuses at a place, ServiceUnavailable for its other failures.

    `left` is the state that is left; `cure` ends what to do about a refusal, `again` what comes after a failure.
    """
    try:
        yield
    except OSError as error:
        refused, failed = verbs
        if refuses(error):
            raise ConfigError(
                f"the object store {refused} {place}: {error}. {left}. Check the bucket and the access keys "
                f"(iceberg.catalog.s3.*){cure}"
            ) from error
        raise ServiceUnavailable(f"the object store {failed} {place}: {error}. {left}; {again}") from error
