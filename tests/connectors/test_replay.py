"""Dead letters of any connectors, replayed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from frazil.connectors import replay
from frazil.connectors.replay import chunks, replay_all
from frazil.connectors.sink import Outcome
from frazil.environment.settings import Settings
from frazil.errors import NotFound
from frazil.pipeline.letters.letter import Letter
from frazil.pipeline.letters.log import LetterLog
from tests.connectors.samples import MINIMAL_S3_SINK, MINIMAL_SINK
from tests.isolation import isolated_settings

KEYS = {"aws.access.key.id": "a", "aws.secret.access.key": "topsecret-4711"}
CONFIGS = {
    "objects": MINIMAL_S3_SINK | KEYS,
    "changes": MINIMAL_SINK
    | {
        "iceberg.tables.upsert-mode-enabled": "true",
        "iceberg.tables.default-id-columns": "id",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
    },
    "wrong": MINIMAL_S3_SINK | KEYS | {"flush.size": "${env:BAD}"},
}


def config_of(name: str) -> Mapping[str, str]:
    if name not in CONFIGS:
        raise NotFound(f"connector {name} does not exist")
    return CONFIGS[name]


def outcomes(folder: Path, *connectors: str) -> list[Outcome]:
    provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    settings: Settings = isolated_settings(
        folder, CONNECT_CONFIG_PROVIDERS="env", CONNECT_CONFIG_PROVIDERS_ENV_CLASS=provider, BAD="hush-4711"
    )
    letters = [
        Letter("t-dlq", 0, n, 0, None, b"{}", context={"connector.name": name} if name else {})
        for n, name in enumerate(connectors)
    ]
    return list(replay_all(settings, config_of, LetterLog("127.0.0.1:9"), [], letters, dry_run=False))


@pytest.mark.parametrize(
    ("connector", "verdict", "reason"),
    [
        (
            "objects",
            "never",
            "dead letters of objects cannot be replayed, for it is no sink of Iceberg tables. They",
        ),
        ("changes", "never", "its records change rows"),
        ("gone", "fails", "connector gone does not exist"),
        ("", "fails", "it does not tell its connector"),
        ("wrong", "fails", "flush.size"),
    ],
)
def test_dead_letters_of_connectors_that_cannot_replay_them_stay_open(
    tmp_path: Path, connector: str, verdict: str, reason: str
) -> None:
    [found] = outcomes(tmp_path, connector)
    assert (found.verdict, found.closed) == (verdict, False)
    assert reason in found.reason
    assert "hush" not in found.reason


def test_one_connector_that_cannot_does_not_keep_the_others_from_being_judged(tmp_path: Path) -> None:
    found = outcomes(tmp_path, "objects", "gone", "objects")
    assert [outcome.letter.offset for outcome in found] == [0, 2, 1]


def test_chunks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = [Letter("t", 0, n, 0, None, b"x" * 1000) for n in range(25)]
    monkeypatch.setattr(replay, "_CHUNK_LETTERS", 10)
    assert [len(chunk) for chunk in chunks(letters)] == [10, 10, 5]
    monkeypatch.setattr(replay, "_CHUNK_BYTES", 3000)
    assert [len(chunk) for chunk in chunks(letters)] == [2] * 12 + [1]
    assert list(chunks([])) == []
