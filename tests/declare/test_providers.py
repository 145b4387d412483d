from __future__ import annotations

import time
from pathlib import Path

import pytest

from frazil.declare.providers import ConfigProviders, Resolved
from frazil.errors import ConfigError

PACKAGE = "org.apache.kafka.common.config.provider."


def providers(environ: dict[str, str] | None = None, **parameters: str) -> ConfigProviders:
    properties = {
        "config.providers": "file, env,dir",
        "config.providers.file.class": PACKAGE + "FileConfigProvider",
        "config.providers.env.class": PACKAGE + "EnvVarConfigProvider",
        "config.providers.dir.class": PACKAGE + "DirectoryConfigProvider",
        **{f"config.providers.{key.replace('__', '.param.').replace('_', '.')}": v for key, v in parameters.items()},
    }
    return ConfigProviders.load(properties, environ or {})


def message(known: ConfigProviders, value: str) -> str:
    with pytest.raises(ConfigError) as raised:
        known.resolve({"my.key": value})
    text = str(raised.value)
    assert text.startswith(f"my.key: no value for {value}: ")
    assert text.endswith("Correct it on the worker's machine or in the configuration, then restart the connector.")
    return text


def test_values_of_files_folders_and_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "s.properties"
    file.write_text("# keys\nuser = me\npass:w\\u00f6rd\\\n  more\n", "utf-8")
    (tmp_path / "token").write_text("t0ken\n")
    resolved = providers({"HOST": "h"}).resolve(
        {
            "a": f"${{file:{file}:user}}",
            "b.password": f"${{file:{file}:pass}}",
            "c": f"Bearer ${{dir:{tmp_path}:token}}",
            "d": "http://${env:HOST}:1/${HOME}",
            "e": "plain",
            "f": "${vault:x:y}",
        }
    )
    assert resolved.config == {
        "a": "me",
        "b.password": "wördmore",
        "c": "Bearer t0ken\n",
        "d": "http://h:1/${HOME}",
        "e": "plain",
        "f": "${vault:x:y}",
    }
    assert resolved.secrets == {"wördmore", "t0ken\n"}, "short values are hidden for secret keys only"


def test_without_providers_placeholders_are_plain_text() -> None:
    none = ConfigProviders()
    assert none.resolve({"a": "${env:HOME}"}) == Resolved({"a": "${env:HOME}"})
    assert none.unknown({"a": "${env:HOME}", "b": None}) == [
        "a: ${env:HOME} stays as it is: the worker has no provider env in config.providers"
    ]
    assert providers().unknown({"a": "${env:HOME}"}) == []


def test_what_was_resolved_is_hidden_from_then_on() -> None:
    known = providers({"S": "s3cr3t"})
    assert known.hide("s3cr3t") == "s3cr3t"
    known.resolve({"a": "${env:S}"})
    assert known.hide("it is s3cr3t!") == "it is [hidden]!"
    known.resolve({"my.password": "open-sesame", "my.name": "Ali Baba"})
    assert known.hide("Ali Baba said open-sesame") == "Ali Baba said [hidden]"


def test_a_value_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "s.properties"
    file.write_text("a=top-secret\n")
    known = providers({"A": "top-secret"})
    for value, reason in (
        (f"${{file:{tmp_path}/none.properties:a}}", "cannot be read: No such file or directory."),
        (f"${{file:{file}:b}}", f"there is no b in {file}."),
        ("${file:relative:a}", "'relative' is not an absolute path."),
        ("${file:a}", "'' is not an absolute path."),
        ("${env:B}", "there is no B in the environment."),
        ("${env:x:A}", "environment variables have no path, but 'x' is given."),
        (f"${{dir:{tmp_path}:none}}", f"there is no none in {tmp_path}."),
        (f"${{dir:{file}:a}}", "is not a folder."),
        (f"${{dir:{tmp_path}:../x}}", "'../x' is not the name of a file in"),
    ):
        text = message(known, value)
        assert reason in text
        assert "top-secret" not in text


def test_files_that_are_no_properties(tmp_path: Path) -> None:
    file = tmp_path / "s"
    file.write_bytes(b"a=\xff")
    assert "is not UTF-8 text" in message(providers(), f"${{file:{file}:a}}")
    file.write_text("a=\\uZZZZ")
    assert "is not a properties file" in message(providers(), f"${{file:{file}:a}}")


def test_allowed_paths_hold_also_through_links(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "s").write_text("a=1\n")
    (inside / "link").symlink_to(outside / "s")
    (inside / "s").write_text("a=2\n")
    known = providers(file__allowed_paths=str(inside), dir__allowed_paths=f"{inside}, {inside}")
    assert known.resolve({"k": f"${{file:{inside}/s:a}}"}).config == {"k": "2"}
    for value in (
        f"${{file:{outside}/s:a}}",
        f"${{file:{inside}/../out/s:a}}",
        f"${{file:{inside}/link:a}}",
        f"${{dir:{outside}:s}}",
        f"${{dir:{inside}:link}}",
    ):
        assert "is not under allowed.paths" in message(known, value)


def test_variables_may_be_limited_to_a_pattern() -> None:
    known = providers({"APP_A": "1", "OTHER": "2"}, env__allowlist_pattern="APP_.*")
    assert known.resolve({"k": "${env:APP_A}"}).config == {"k": "1"}
    assert "variable OTHER does not match allowlist.pattern" in message(known, "${env:OTHER}")


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({"config.providers": "x"}, r"config\.providers\.x\.class is not set; the classes"),
        ({"config.providers": "x", "config.providers.x.class": "a.B"}, r"class is a\.B; the classes"),
        (
            {
                "config.providers": "x",
                "config.providers.x.class": "FileConfigProvider",
                "config.providers.x.param.allowed.paths": "/does/not/exist",
            },
            r"config\.providers\.x\.param\.allowed\.paths has /does/not/exist, which is no absolute path",
        ),
        (
            {
                "config.providers": "x",
                "config.providers.x.class": "EnvVarConfigProvider",
                "config.providers.x.param.allowlist.pattern": "(",
            },
            r"config\.providers\.x\.param\.allowlist\.pattern is no regular expression",
        ),
    ],
)
def test_wrong_providers(properties: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        ConfigProviders.load(properties, {})


def test_the_newest_secrets_are_hidden_and_the_oldest_of_too_many_forgotten() -> None:
    providers = ConfigProviders({})
    for number in range(1500):
        providers.keep_out({"a.password": f"secret-{number:04d}"})
        providers.keep_out({"b.password": "always"})
    assert len(providers._seen) == 1000  # noqa: SLF001
    assert providers.hide("secret-1499 secret-0502 always") == "[hidden] [hidden] [hidden]"
    assert providers.hide("secret-0001") == "secret-0001"


def test_a_line_costs_little_however_long_it_is_and_however_many_secrets_there_are() -> None:
    providers = ConfigProviders({})
    providers.keep_out({f"{number}.password": f"secret-{number:04d}-with\"quotes'" for number in range(1000)})
    began = time.process_time()
    assert providers.hide("a line of 200 characters" * 8) == "a line of 200 characters" * 8
    assert time.process_time() - began < 0.1
    began = time.process_time()
    cut = providers.hide("x" * (20 << 20))
    assert time.process_time() - began < 2
    assert len(cut) < 70_000
    assert cut.endswith(" more characters")


def test_a_secret_at_the_cut_is_hidden_whole() -> None:
    providers = ConfigProviders({})
    secret = "s3cr3t-of-some-length"
    providers.keep_out({"a.password": secret})
    for place in range((64 << 10) - 40, (64 << 10) + 60):
        assert "s3cr" not in providers.hide("x" * place + secret + "y" * 500)
