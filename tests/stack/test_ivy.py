from __future__ import annotations

import ssl
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import trustme

from frazil.errors import StackError
from frazil.stack.ivy import retrieve
from tests.stack.repository import Repository
from tests.web import Handler, running, server_of


def test_jars_are_retrieved_with_progress(tmp_path: Path, java: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.add("org.example:one:1.0")
    repository.add("org.example:two:2.0:extra")
    lines: list[str] = []
    wanted = ["org.example:one:1.0", "org.example:two:2.0:extra"]
    retrieve(java, wanted, tmp_path / "out", tmp_path / "ivy", repository.settings, lines.append, {})
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        "one-1.0.jar": repository.content("org.example:one:1.0"),
        "two-2.0-extra.jar": repository.content("org.example:two:2.0:extra"),
    }
    assert [line.split(" ")[0] for line in lines] == ["1/2", "2/2"]


def test_dependencies_come_along_only_when_asked_for(tmp_path: Path, java: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.add("org.example:leaf:1.0")
    repository.add("org.example:root:1.0", needs=["org.example:leaf:1.0"])
    for transitive, expected in ((False, {"root-1.0.jar"}), (True, {"root-1.0.jar", "leaf-1.0.jar"})):
        out = tmp_path / f"out-{transitive}"
        retrieve(
            java,
            ["org.example:root:1.0"],
            out,
            tmp_path / f"ivy-{transitive}",
            repository.settings,
            lambda text: None,
            {},
            transitive=transitive,
        )
        assert {path.name for path in out.iterdir()} == expected


def test_a_failure_names_artifact_cause_and_next_step(tmp_path: Path, java: Path) -> None:
    repository = Repository(tmp_path / "repository")
    with pytest.raises(StackError) as caught:
        retrieve(java, ["org.example:absent:1.0"], tmp_path / "out", tmp_path / "ivy", repository.settings, print, {})
    message = str(caught.value)
    assert "org.example#absent;1.0" in message
    assert "FRAZIL_IVY_SETTINGS" in message


def test_an_unreachable_repository_is_told_without_its_password(tmp_path: Path, java: Path) -> None:
    settings = tmp_path / "settings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="r"/><resolvers>'
        '<ibiblio name="r" m2compatible="true" root="http://user:hunter2@127.0.0.1:9/maven"/></resolvers></ivysettings>'
    )
    with pytest.raises(StackError) as caught:
        retrieve(java, ["org.example:one:1.0"], tmp_path / "out", tmp_path / "ivy", settings, print, {})
    assert "org.example#one;1.0" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_java_gets_its_options_and_nothing_else_of_the_environment(tmp_path: Path, java: Path) -> None:
    """Ivy settings can read system properties: here the repository's place is one."""
    repository = Repository(tmp_path / "repository")
    repository.add("org.example:one:1.0")
    text = repository.settings.read_text()
    place = (tmp_path / "repository").as_uri()
    repository.settings.write_text(text.replace(place, "${our.repository}"))
    assert place in text

    def fetch(env: dict[str, str]) -> None:
        retrieve(java, ["org.example:one:1.0"], tmp_path / "out", tmp_path / "ivy", repository.settings, print, env)

    with pytest.raises(StackError):
        fetch({"our.repository": place})
    fetch({"JAVA_TOOL_OPTIONS": f"-Dour.repository={place}"})
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["one-1.0.jar"]


@pytest.fixture
def behind_tls(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Ivy settings for a repository with a certificate of an issuer of its own, and the issuer's as a PEM file."""
    repository = Repository(tmp_path / "repository")
    repository.add("org.example:one:1.0")
    issuer = trustme.CA()
    issuer.cert_pem.write_to_path(tmp_path / "issuer.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issuer.issue_cert("localhost").configure_cert(context)

    class Files(Handler, SimpleHTTPRequestHandler):
        def __init__(self, *request: Any) -> None:
            super().__init__(*request, directory=str(tmp_path / "repository"))

    with running(server_of(Files, context)) as server:
        text = repository.settings.read_text()
        place = f"https://localhost:{server.server_port}"
        repository.settings.write_text(text.replace((tmp_path / "repository").as_uri(), place))
        yield repository.settings, tmp_path / "issuer.pem"


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
def test_java_trusts_the_certificates_that_python_is_told_to_trust(
    tmp_path: Path, java: Path, behind_tls: tuple[Path, Path], variable: str
) -> None:
    settings, issuer = behind_tls
    env = {variable: str(issuer), "FRAZIL_HOME": str(tmp_path / "home")}
    retrieve(java, ["org.example:one:1.0"], tmp_path / "out", tmp_path / "ivy", settings, print, env)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["one-1.0.jar"]


def test_a_certificate_that_nobody_trusts_is_named_as_the_cause(
    tmp_path: Path, java: Path, behind_tls: tuple[Path, Path]
) -> None:
    with pytest.raises(StackError, match=r"Java does not trust the certificate .* Set SSL_CERT_FILE") as caught:
        retrieve(java, ["org.example:one:1.0"], tmp_path / "out", tmp_path / "ivy", behind_tls[0], print, {})
    assert "PKIX path building failed" in str(caught.value)
