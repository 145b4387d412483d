"""Option `--env-file`: variables for values of connectors that are written as `${NAME}`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from dotenv import dotenv_values

from frazil.environment.settings import Settings
from frazil.errors import UsageError

EnvFileOption = Annotated[
    Path | None,
    typer.Option(
        "--env-file",
        help="File with NAME=value lines for values with ${NAME}; the environment wins over it.",
        dir_okay=False,
    ),
]


def variables_of(file: Path | None) -> Mapping[str, str] | None:
    """The file's variables, below the environment and above those of the stack's PostgreSQL; None without a file.

    Raises UsageError for a file that cannot be read.
    """
    if file is None:
        return None
    try:
        found = {name: text for name, text in dotenv_values(file, interpolate=False).items() if text}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--env-file {file} cannot be read: {error}. Nothing was sent.") from None
    if not file.exists():
        raise UsageError(f"--env-file {file}: there is no such file. Nothing was sent.")
    settings = Settings.load()
    stack = {
        "AWS_RDS_ENDPOINT": settings.postgres_host,
        "AWS_RDS_PORT": str(settings.postgres_port),
        "AWS_RDS_DBNAME": settings.postgres_database,
        "AWS_RDS_USER": settings.postgres_user,
        "AWS_RDS_PASSWORD": settings.postgres_password,
        "AWS_REGION": settings.region,
    }
    return {**stack, **found, **{name: text for name, text in settings.env.items() if text}}
