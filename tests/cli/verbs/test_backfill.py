"""The verb `backfill`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from frazil.cli.main import app
from frazil.clients.kafka import topics as kafka_topics
from frazil.errors import UsageError
from frazil.stack.local import LocalStack
from tests.cli.programs import finished, program
from tests.connectors.samples import MINIMAL_SINK
from tests.harness import send

UNTIL = ("--to", "1970-01-01T02:00:00Z")


def test_a_connector_without_a_statement_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps(MINIMAL_SINK))
    result = CliRunner().invoke(app, ["backfill", str(file)])
    assert isinstance(result.exception, UsageError)
    assert "c cannot be backfilled" in str(result.exception)


def _statement(stack: LocalStack, topic: str, folder: Path) -> tuple[dict[str, str], Path]:
    """A connector and its file; its topic has five old records and three new ones."""
    servers = stack.settings.bootstrap_servers
    kafka_topics.ensure_topics(servers, {topic: (1, {"retention.ms": "-1"})})
    send(servers, topic, [json.dumps({"id": n, "page": "ab"[n % 2]}).encode() for n in range(5)], timestamp=1_000_000)
    send(servers, topic, [json.dumps({"id": n, "page": "c"}).encode() for n in range(3)], timestamp=9_000_000)
    config = {
        "connector.class": "SqlSink",
        "topics": topic,
        "frazil.sql.schema": "id BIGINT NOT NULL, page STRING",
        "frazil.sql": f"SELECT page, id FROM {topic}",  # noqa: S608
        "iceberg.tables": f"streaming.{topic}",
        "iceberg.tables.auto-create-enabled": "true",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    }
    file = folder / f"{topic}.json"
    file.write_text(json.dumps(config))
    return config, file


@pytest.mark.stack
def test_it_tells_what_it_would_do_does_it_once_and_asks_before_it_doubles(stack: LocalStack, tmp_path: Path) -> None:
    _, file = _statement(stack, "past", tmp_path)
    code, output = finished(program(stack.settings, "backfill", str(file), *UNTIL, "--dry-run"))
    assert code == 0, output
    assert "0 to 5" in output
    assert "Rows of 5 records would go to streaming.past." in output
    code, output = finished(program(stack.settings, "backfill", str(file), *UNTIL))
    assert code == 0, output
    assert "5 rows of 5 records in streaming.past" in output
    code, output = finished(program(stack.settings, "backfill", str(file), *UNTIL, "-o", "json"))
    assert code == 0, output
    told = json.loads(output)
    assert (told["done"], told["records"], told["stored"]) == (True, 5, 0)
    code, output = finished(program(stack.settings, "backfill", str(file)))
    assert code == 2
    assert "5 records of them are stored by past.backfill-" in output
    assert "nothing was stored; pass --yes to go on" in output


@pytest.mark.stack
@pytest.mark.faults
def test_the_rows_of_a_table_are_filled_in_once(stack: LocalStack, tmp_path: Path) -> None:
    config, file = _statement(stack, "visits", tmp_path)
    code, output = finished(program(stack.settings, "backfill", str(file), *UNTIL))
    assert code == 0, output
    pages = {**config, "frazil.sql": "SELECT page, count(*) AS n FROM visits GROUP BY page"}
    pages["iceberg.tables"] = "streaming.pages"
    pages["iceberg.tables.upsert-mode-enabled"], pages["iceberg.tables.default-id-columns"] = "true", "page"
    other = tmp_path / "pages.json"
    other.write_text(json.dumps(pages))
    table = ("--table", "streaming.visits")
    code, output = finished(program(stack.settings, "backfill", str(other), *table))
    assert code == 0, output
    assert "2 rows of 5 records in streaming.pages, by pages.of-" in output
    code, output = finished(program(stack.settings, "backfill", str(other), *table, "-o", "json"))
    assert code == 0, output
    assert json.loads(output)["done"]
    code, output = finished(program(stack.settings, "backfill", str(other), *table, *UNTIL))
    assert code == 2
    assert "--table goes without --from and --to" in output
