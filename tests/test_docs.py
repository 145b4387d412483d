"""The pages agree with the code: generated ones are fresh, links lead somewhere, commands and JSON would be taken."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import typer
import yaml
from dotenv import dotenv_values

import frazil
from frazil import errors
from frazil.cli.main import app
from frazil.cli.ui.program import GROUPS
from frazil.connectors.iceberg.config.keys import ICEBERG_KEYS
from frazil.connectors.objects.config.keys import OBJECT_KEYS
from frazil.connectors.objects.config.object_sink import object_sink_definition
from frazil.connectors.sql.config import SQL_KEYS
from frazil.declare.definition import ConfigDef
from frazil.environment.settings import Settings
from frazil.environment.variables import VARIABLES
from scripts import reference

GENERATED = reference.pages()
PAGES = sorted(
    path.relative_to(reference.ROOT)
    for path in (
        *reference.ROOT.glob("*.md"),
        *(reference.ROOT / "docs").rglob("*.md"),
    )
)
WRITTEN = [page for page in PAGES if page not in GENERATED]
ZENSICAL = Path(sys.executable).with_name("zensical")
PROGRAMS = ("./kafka-connect-iceberg-sink.sh", "frazil", ".venv/bin/frazil")
VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# Words in capitals that are no variables of frazil. What begins with CONNECT_ is a key of the worker.
OTHER_NAMES = {
    "KEY_CONVERTER",
    "SOURCE_DATE_EPOCH",
    "STATIC_TOKEN",
    "USER_INFO",
    "SASL_PLAINTEXT",
    "SASL_SSL",
    "KUBEBUILDER_ASSETS",
    "RECORD_CORPUS",
    "HYPOTHESIS_PROFILE",
    "ICEBERG_SECRET",
    "TASK_PUT",
    "VALUE_CONVERTER",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "FRAZIL_BENCH_HOME",
    "JDK_JAVA_OPTIONS",
    "JAVA_HOME_25",
    "DIVIDE_BY_ZERO",
    "JAVA_HOME_25_X64",
    "PYSPARK_DRIVER_PYTHON",
    "PYSPARK_PYTHON",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "SPARK_LOCAL_IP",
    "TIMESTAMP_NTZ",
    "TRY_CAST",
}

STACK = Settings({"ICEBERG_CATALOG_URI": Settings({}).catalog_uri})

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def text_of(page: Path) -> str:
    return (reference.ROOT / page).read_text()


def blocks(page: Path, *languages: str) -> list[str]:
    """Fenced blocks of a page in one of the languages."""
    return [content for language, content in _FENCE.findall(text_of(page)) if language in languages]


def commands(page: Path) -> Iterator[list[str]]:
    """Words of every simple command in the page's shell blocks."""
    for script in blocks(page, "bash", "sh"):
        plain = re.sub(r"(^|\s)#.*$", "", script, flags=re.MULTILINE).replace("\\\n", " ")
        lexer = shlex.shlex(plain, posix=True, punctuation_chars="|;&\n")
        lexer.whitespace, lexer.whitespace_split = " \t", True
        words: list[str] = []
        for word in (*lexer, "\n"):
            if set(word) <= set("|;&\n"):
                if words:
                    yield words
                words = []
            else:
                words.append(word)


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", GENERATED, ids=str)
def test_generated_files_are_fresh(path: Path) -> None:
    assert text_of(path) == GENERATED[path], "stale: run `make docs`"


def test_the_pages_are_found() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md"} <= {str(page) for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(text_of(page)):
        link = urlsplit(target)
        if link.scheme:
            assert link.scheme == "https", target
            continue
        linked = (reference.ROOT / page.parent / link.path).resolve() if link.path else reference.ROOT / page
        assert linked.exists(), f"{page} links to {target}, which does not exist"
        if link.fragment:
            assert link.fragment in anchors(linked.relative_to(reference.ROOT)), f"{page}: no heading for {target}"


def test_each_page_is_linked_from_another() -> None:
    linked = {
        (reference.ROOT / page.parent / urlsplit(target).path).resolve()
        for page in PAGES
        for target in _LINK.findall(text_of(page))
    }
    assert [page for page in PAGES if page != Path("README.md") and reference.ROOT / page not in linked] == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_would_be_taken(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of(Path("Makefile")), re.MULTILINE))
    for words in commands(page):
        if words[0] in PROGRAMS:
            verb = words[1] if len(words) > 1 else "start"
            assert verb in VERBS, f"{page}: {' '.join(words)}: there is no verb {verb}"
            command, rest = VERBS[verb], words[2:]
            if inner := getattr(command, "commands", {}):
                assert rest, f"{page}: {' '.join(words)}: a verb of its own is missing"
                assert rest[0] in inner, f"{page}: {' '.join(words)}: there is no {verb} {rest[0]}"
                command, rest = inner[rest[0]], rest[1:]
            command.make_context(verb, rest)  # raises for an option or argument that it does not take
        elif words[0] == "make":
            assert set(words[1:]) <= targets, f"{page}: {' '.join(words)}"


def test_commands_are_seen() -> None:
    found = [words for page in WRITTEN for words in commands(page) if words[0] in PROGRAMS]
    assert len(found) > 20
    assert ["frazil", "sql", "SHOW TABLES"] in found


def test_every_verb_is_documented() -> None:
    documented = re.findall(r"^## (.*)$", text_of(Path("docs/reference/cli.md")), re.MULTILINE)
    assert documented == [verb for verbs in GROUPS.values() for verb in verbs]
    assert sorted(documented) == sorted(VERBS)


@pytest.mark.parametrize("page", WRITTEN, ids=str)
def test_variables_of_the_pages_exist(page: Path) -> None:
    named = set(re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", text_of(page)))
    of_the_worker = {name for name in named if name.startswith("CONNECT_")}
    assert named - OTHER_NAMES - of_the_worker <= VARIABLES.keys()


def test_every_variable_is_on_a_page_that_is_written_by_hand() -> None:
    text = "\n".join(text_of(page) for page in WRITTEN)
    assert [name for name in VARIABLES if name not in text] == []


def test_the_sample_has_every_variable_with_its_default(tmp_path: Path) -> None:
    sample = re.sub(r"^#(?=[A-Z])", "", text_of(Path(".env.sample")), flags=re.MULTILINE)
    file = tmp_path / "sample.env"
    file.write_text(sample)
    assert dotenv_values(file).keys() == VARIABLES.keys()
    home = {"HOME": str(Path.home())}
    settings, defaults = Settings.load(home, env_file=file), Settings.load(home, env_file=Path(os.devnull))
    assert (settings.home, settings.cache, settings.topics) == (defaults.home, defaults.cache, defaults.topics)
    assert settings.bootstrap_servers == defaults.bootstrap_servers
    assert settings.connect_url == defaults.connect_url
    assert (settings.spark_master, settings.spark_memory) == (defaults.spark_master, defaults.spark_memory)
    assert settings.catalog_properties() == defaults.catalog_properties()


def test_every_connector_key_is_listed() -> None:
    listed = text_of(Path("docs/reference/connector-keys.md"))
    assert [key.name for key in (*ICEBERG_KEYS, *SQL_KEYS) if f"| `{key.name}`" not in listed] == []
    listed = text_of(Path("docs/reference/object-sink-keys.md"))
    assert [key.name for key in OBJECT_KEYS if f"| `{key.name}`" not in listed] == []


@pytest.mark.parametrize("page", WRITTEN, ids=str)
def test_keys_of_the_pages_exist(page: Path) -> None:
    known, objects, statements = reference.definition(), object_sink_definition({}), ConfigDef(SQL_KEYS)
    names = re.findall(r"`((?:iceberg|errors|frazil|consumer\.override)\.[a-z][\w.\-*]*)", text_of(page))
    public = "|".join(frazil.__all__)  # of the package
    others = re.compile(  # modules, properties of snapshots
        rf".*\.py|frazil\.(offsets|begin|compacted|connector|run|kafka|snapshot|source|state|deadletters?|rest|{public})\b.*"
    )
    assert [
        name
        for name in names
        if not others.fullmatch(name) and not any(each.find(name) for each in (known, objects, statements))
    ] == []


@pytest.mark.parametrize("page", WRITTEN, ids=str)
def test_metrics_of_the_pages_exist(page: Path) -> None:
    listed = set(re.findall(r"^\| `(\w+)`", text_of(Path("docs/reference/metrics.md")), re.MULTILINE))
    assert len(listed) > 15
    named = set(re.findall(r"`((?:frazil|kafka_connector)_[a-z0-9_]+)", text_of(page)))
    assert named <= listed


@pytest.mark.parametrize("page", WRITTEN, ids=str)
def test_addresses_of_the_pages_are_served(page: Path) -> None:
    routes = re.findall(r"^\| [A-Z, ]+ \| `(/[^`]*)`", text_of(Path("docs/reference/rest.md")), re.MULTILINE)
    patterns = [re.compile(re.sub(r"\{\w+\}", "[^/]+", route)) for route in routes]
    for url in re.findall(r"http://127\.0\.0\.1:808[13](/[^\s'\"`]*)", text_of(page)):
        path = urlsplit(url).path
        assert any(pattern.fullmatch(path) for pattern in patterns), f"{page}: nothing is served at {path}"


def test_every_error_is_in_the_tree() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.FrazilError)]
    drawn = re.findall(r"(\w+(?:Error|\b))", text_of(Path("docs/reference/errors.md")))
    assert [kind.__name__ for kind in kinds if kind.__name__ not in drawn] == []


def test_the_site_has_every_page_and_no_broken_link(tmp_path: Path) -> None:
    config = yaml.safe_load(text_of(Path("mkdocs.yml")))
    parts = [part for part in config["nav"] if "Start" not in part]
    listed = [
        Path("docs/index.md"),
        *(Path("docs") / page for part in parts for pages in part.values() for page in pages),
    ]
    assert sorted(listed) == [page for page in PAGES if page.parts[0] == "docs"]
    for name in ("docs", "mkdocs.yml"):
        copy = shutil.copytree if name == "docs" else shutil.copy
        copy(reference.ROOT / name, tmp_path / name)
    built = subprocess.run([ZENSICAL, "build", "--strict"], cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "Topics to tables" in (tmp_path / "site" / "index.html").read_text()
    assert (tmp_path / "site" / "search.json").exists()
