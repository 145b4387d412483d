"""Takes credentials out of text of any form, as requests to object stores carry them."""

import re

import pyarrow as pa
import pyarrow.compute as pc

REDACTED = "***REDACTED***"

#: Names whose values are secrets, in lower case. Headers and query parameters of signed requests, query
#: parameters of STS calls, and the customer keys of SSE-C.
SENSITIVE_KEYS = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "cookie",
        "set-cookie",
        "signature",
        "x-amz-signature",
        "x-amz-credential",
        "x-amz-security-token",
        "x-amz-server-side-encryption-customer-key",
        "x-amz-copy-source-server-side-encryption-customer-key",
        "token",
        "webidentitytoken",
        "ldappassword",
    }
)

_KEYS = "|".join(sorted(re.escape(key) for key in SENSITIVE_KEYS))
_JSON_STRING = r'"(?:[^"\\]|\\.)*(?:"|\\?\z)'  # text that was cut ends inside the string
_JSON_VALUE = rf'(?:{_JSON_STRING}|\[(?:[^"\[\]{{}}]|{_JSON_STRING})*(?:\]|\z)|[-+.0-9eE]+|true|false)'
JSON_ENTRY = rf'(?is)("(?:{_KEYS})"\s*:\s*){_JSON_VALUE}'
JSON_REPLACEMENT = rf'\1"{REDACTED}"'
# A value ends at `&`, also in its percent-encoded and JSON-escaped forms, at a quote, a comma or a blank.
PARAMETER = (
    r"(?i)((?:X-Amz-(?:Signature|Security-Token|Credential)|\bSignature)(?:=|%3D))"
    r"(?:[^&\s\"'<>,;\\%]|%[013-9a-f]|%2[0-57-9a-f])+"
)
PARAMETER_REPLACEMENT = rf"\1{REDACTED}"


def redact_header(name: str, value: bytes) -> bytes:
    """Redact the value of a header: all of it where the name says that it is a secret."""
    return REDACTED.encode() if name.lower() in SENSITIVE_KEYS else redact_bytes(value)


def redact_bytes(data: bytes) -> bytes:
    """Redact secrets in bytes, whether they are JSON, another text or neither."""
    text = pa.array([data.decode("latin-1")])
    for pattern, replacement in ((PARAMETER, PARAMETER_REPLACEMENT), (JSON_ENTRY, JSON_REPLACEMENT)):
        text = pc.replace_substring_regex(text, pattern, replacement)
    return str(text[0].as_py()).encode("latin-1")


def redact_text(text: str) -> str:
    """Redact secrets in a text."""
    return redact_bytes(text.encode()).decode()
