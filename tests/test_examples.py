"""Configurations of the pages: each is a file below `docs/examples`, which programs take as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from scripts import reference

from frazil.connectors.connector import open_connector
from frazil.connectors.debezium_keys import errors_of, is_debezium, warnings_of_debezium
from frazil.connectors.documents import Document, read_documents
from frazil.connectors.registry import check_config, completed
from frazil.connectors.topics.topic_connectors import topic_connectors
from frazil.declare.providers import ConfigProviders
from frazil.environment.settings import Settings
from frazil.minio.deployment.connectors import connectors
from frazil.minio.deployment.deploy import deploy
from frazil.stack.local import LocalStack
from tests.rest_worker import rest_worker
from tests.test_docs import STACK, WRITTEN, blocks

EXAMPLES = reference.ROOT / "docs" / "examples"
FILES = sorted((EXAMPLES / "connectors").iterdir())
TOPICS = sorted(EXAMPLES.glob("topics*.yaml"))
_SOURCE = "Source"
"""In the names of classes of Kafka Connect's own sources."""


def documents(files: list[Path]) -> list[Document]:
    return [document for file in files for document in read_documents([str(file)])]


def sinks(files: list[Path]) -> list[Document]:
    """Those that this worker runs itself."""
    classes = [(document, document.config["connector.class"]) for document in documents(files)]
    return [document for document, name in classes if not (is_debezium(name) or _SOURCE in name)]


def plain(text: str) -> object:
    """What a block or a file says, without the name of a single connector: pages leave it out."""
    found = list(yaml.safe_load_all(text))
    return [{key: value for key, value in one.items() if key != "name"} for one in found] if len(found) == 1 else found


def test_each_configuration_of_a_page_is_a_file() -> None:
    files = [plain(file.read_text()) for file in (*FILES, *TOPICS)]
    missing = [
        (str(page), block)
        for page in WRITTEN
        for block in (*blocks(page, "json"), *blocks(page, "yaml"))
        if ("connector.class" in block or "topic-name" in block) and plain(block) not in files
    ]
    assert missing == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_each_file_would_be_applied_without_a_warning(file: Path) -> None:
    found = documents([file])
    assert len(found) > 1 or found[0].name == file.stem
    for document in found:
        if is_debezium(document.config["connector.class"]):
            assert (errors_of(document.config), warnings_of_debezium(document.config)) == ([], [])
    for document in sinks([file]):
        told = check_config(completed({**document.config, "name": document.name}, STACK))
        assert not [text for text in told if "is not a key of this connector" in text]


@pytest.mark.parametrize("file", TOPICS, ids=lambda file: file.name)
def test_each_file_of_topics_would_be_taken(file: Path) -> None:
    made = topic_connectors(file, Settings({}))
    assert made
    for config in made.values():
        assert check_config(completed(config, STACK)) == []


@pytest.mark.parametrize("document", sinks(FILES), ids=lambda document: document.name)
def test_each_sink_suits_the_stack(document: Document) -> None:
    """They write to the catalog and the store of the stack, and to tables that exist or are created."""
    config = document.config
    if "s3.bucket.name" in config:
        assert config["store.url"] == Settings({}).s3_endpoint
        return
    assert not [key for key in config if key.startswith("iceberg.catalog.")]
    made_by_init = {one["iceberg.tables"] for one in connectors(Settings({})).values()}
    own = {table.strip() for table in config.get("iceberg.tables", "").split(",")} <= made_by_init
    assert own or config.get("iceberg.tables.auto-create-enabled") == "true"


@pytest.mark.stack
def test_each_sink_finds_what_it_needs_on_the_stack(stack: LocalStack, tmp_path: Path) -> None:
    with rest_worker(tmp_path) as (url, _):
        deploy(Settings({**stack.settings.env, "KAFKA_CONNECT_URL": url}), lambda step: None)
    own_store = {"store.url": stack.settings.s3_endpoint, "s3.bucket.name": stack.settings.warehouse}
    problems = {}
    for document in sinks(FILES):
        config = document.config | (own_store if "store.url" in document.config else {})
        opened = open_connector(document.name, config, stack.settings, ConfigProviders())
        problems[document.name] = opened.sink.problems()
    assert len(problems) > 15
    assert {name: told for name, told in problems.items() if told} == {}
