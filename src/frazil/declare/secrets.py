"""Keeps secrets of a connector configuration out of errors, logs and traces."""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from frazil.declare.definition import HIDDEN
from frazil.declare.placeholders import has_placeholder

_SECRET = re.compile(
    r"secret|passw|passphrase|pwd|token|credential|sasl\.jaas\.config|authorization|cookie|bearer|user[.-]info|"
    r"connection.?string|(?:private|api|account|signing|encryption|customer|keystore)[._-]?key|(?<![a-z])sas(?![a-z])",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"\b\w{0,64}(?:password|secret|token)\w{0,64}\s{0,8}=\s{0,8}"
    r"""(?:"((?:[^"\\]|\\.)*+)"|'((?:[^'\\]|\\.)*+)'|([^\s;&"']+))""",
    re.IGNORECASE,
)
"""A secret within a value: an option of a JAAS line, or a parameter of an address."""
_LOGIN = re.compile(r"://[^/?#\s@:]*:([^/?#\s@]{1,1024})@")
_HEADER = re.compile(
    r"""(\bauthorization["']?\s{0,8}[:=,]\s{0,8}b?["']?)(?:Basic|Bearer|Digest|AWS4-HMAC-SHA256)\s[^"'\r\n]+""",
    re.IGNORECASE,
)
_SHORTEST_BASE64, _SHORTEST_LINE = 8, 16


def is_secret(name: str) -> bool:
    """Whether the value of this key may not be shown; where credentials come from (`URL`) may be."""
    return _SECRET.search(name) is not None and not name.endswith(".credentials.source")


def secrets_of(config: Mapping[str, str]) -> set[str]:
    """Values of a configuration that may not be shown: those of secret keys, and secrets within others.

    Placeholders and switches (true, false) are none.
    """
    found: set[str] = set()
    for name, value in config.items():
        if has_placeholder(value):
            continue
        if is_secret(name):
            found.add(value.strip())
        for match in _OPTION.finditer(value):
            found.add(re.sub(r"\\(.)", r"\1", match[match.lastindex or 0]))
        found.update(_LOGIN.findall(value))
    return found - {"", "true", "false"}


def forms(value: str) -> set[str]:
    """Texts that a value has in messages: as it is, quoted, escaped, in an address, and within base64."""
    quoted = json.dumps(value)[1:-1]
    found = {
        value,
        repr(value)[1:-1],
        quoted,
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(quoted)[1:-1],
        value.replace("\\", "\\\\").replace("'", "\\'"),
        html.escape(value),
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
    }
    found |= {re.sub("%..", lambda escape: escape[0].lower(), text) for text in found if "%" in text}
    return found | set(_encoded(value.encode())) | {line for line in value.split("\n") if _is_telling(line)}


def _is_telling(line: str) -> bool:
    return len(line.strip()) >= _SHORTEST_LINE and not line.startswith("-----")


def _encoded(value: bytes) -> Iterator[str]:
    """The part that the base64 of any bytes around the value has, by where the value begins in a group of three."""
    for skipped in range(3):
        whole = base64.b64encode(bytes(skipped) + value).decode()
        # Characters that also tell of the bytes before or behind are left out.
        core = whole[(0, 2, 3)[skipped] : len(whole) - (0, 3, 2)[(skipped + len(value)) % 3]]
        if len(core) >= _SHORTEST_BASE64:
            yield core
            yield core.replace("+", "-").replace("/", "_")


def hide(text: str, texts: Iterable[str]) -> str:
    """`text` with each of the texts, of which the longest come first, and each login of a header as `[hidden]`."""
    for each in texts:
        if each in text:
            text = text.replace(each, HIDDEN)
    return _HEADER.sub(rf"\1{HIDDEN}", text)


def hide_secrets(text: str, config: Mapping[str, str], more: Iterable[str] = ()) -> str:
    """`text` without the secrets of `config`, in whatever form they are in it.

    `more` are further values to hide, such as those that configuration providers gave.
    """
    values = secrets_of(config) | ({value.strip() for value in more} - {"", "true", "false"})
    return hide(text, sorted({form for value in values for form in forms(value)}, key=len, reverse=True))
