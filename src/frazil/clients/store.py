"""Meaning of the object store's errors."""

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
