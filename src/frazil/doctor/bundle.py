"""An archive for a report of a fault: what is found, connectors, settings and the ends of logs, without secrets."""

import io
import json
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from frazil.declare.definition import HIDDEN
from frazil.declare.secrets import forms as forms_of
from frazil.declare.secrets import hide, is_secret, secrets_of
from frazil.doctor.finding import Finding, Look
from frazil.environment.private_file import open_private
from frazil.stack.logfile import tail
from frazil.text.credentials import redact_bytes

_LINES = 5_000


def write_bundle(look: Look, findings: Sequence[Finding], path: Path) -> list[str]:
    """Write the archive, readable by its owner only; the names of what is in it. Raises OSError.

    Secrets are hidden by name, and wherever else their values stand; credentials of signed requests by their form.
    """
    hidden = _hidden(look)
    names = []
    with open_private(path, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in _contents(look, findings):
            content = redact_bytes(hide(text, hidden).encode())
            entry = tarfile.TarInfo(f"frazil-support/{name}")
            entry.size, entry.mtime, entry.mode = len(content), int(time.time()), 0o600
            archive.addfile(entry, io.BytesIO(content))
            names.append(name)
    return names


def _hidden(look: Look) -> list[str]:
    """All forms of the secrets that are known, the longest first."""
    configs = [entry["info"]["config"] for entry in look.connectors.values()]
    own = (_settings(look), look.settings.catalog_properties())
    secrets = set().union(*(secrets_of(config) for config in (*configs, *own)))
    return sorted({form for value in secrets for form in forms_of(value)}, key=len, reverse=True)


def _contents(look: Look, findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    yield "doctor.json", _json([asdict(one) for one in findings])
    yield "connectors.json", _json(_without_secrets(look.connectors))
    yield "settings.json", _json(_without_secrets(_settings(look)))
    packages = sorted(f"{one.metadata['Name']}=={one.version}" for one in distributions())
    yield "packages.txt", "\n".join(packages) + "\n"
    for log in sorted(look.settings.logs.glob("*.log")):
        lines, _ = tail(log, _LINES)
        yield f"logs/{log.name}", "\n".join(lines) + "\n"


def _settings(look: Look) -> Mapping[str, str]:
    """Variables of frazil that are set; others of the environment are nobody's business."""
    from frazil.environment.variables import VARIABLES

    return {name: look.settings.env[name] for name in VARIABLES if name in look.settings.env}


def _without_secrets(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {key: _without_secrets(item, str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    return HIDDEN if isinstance(value, str) and value and is_secret(name) else value


def _json(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
