"""The verb `verify`, as a user calls it."""

from __future__ import annotations

import json
import os
from typing import Any

from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.environment.settings import Settings


def verified(settings: Settings, connector: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code, and what it says of each range."""
    result = CliRunner().invoke(
        app, ["verify", connector, "-o", "json"], env={**settings.env, "FRAZIL_ENV_FILE": os.devnull}
    )
    assert result.exit_code in (0, 1), result.output
    return result.exit_code, json.loads(result.stdout)
