from __future__ import annotations

from pathlib import Path

import pytest

from frazil.errors import ConfigError
from frazil.worker.rest.security.users import EXTENSIONS, USERS_FILE, Role, Users, hashed

EXTENSION = "org.apache.kafka.connect.rest.basic.auth.extension.BasicAuthSecurityRestExtension"
MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"


def test_plain_and_hashed_passwords(tmp_path: Path) -> None:
    file = tmp_path / "users.properties"
    file.write_text(f"ops=top-secret\nread\\ er={hashed('other-secret')}\n")
    users = Users.load({USERS_FILE: str(file)}, {})
    assert users is not None
    for _ in range(2):
        assert users.admit("ops", "top-secret")
        assert users.admit("read er", "other-secret")
        assert not users.admit("ops", "other-secret")
        assert not users.admit("read er", "top-secret")
        assert not users.admit("nobody", "top-secret")
        assert not users.admit("ops", "")


def test_every_hash_is_another_and_none_has_the_password() -> None:
    one, two = hashed("top-secret"), hashed("top-secret")
    assert one != two
    assert "top-secret" not in one
    assert not Users({"u": one}).admit("u", one)


def test_the_login_file_of_kafka_connect(tmp_path: Path) -> None:
    users, login = tmp_path / "users.properties", tmp_path / "jaas.conf"
    users.write_text("ops: top-secret\n")
    login.write_text(f'// ours\nKafkaConnect {{\n  {MODULE} required\n  file="{users}";\n}};\n')
    env = {"KAFKA_OPTS": f"-Xmx1g -Djava.security.auth.login.config={login}"}
    found = Users.load({EXTENSIONS: EXTENSION}, env)
    assert found is not None
    assert found.admit("ops", "top-secret")
    assert Users.load({}, env) is None


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({EXTENSIONS: "com.example.Other"}, "rest.extension.classes has com.example.Other"),
        ({EXTENSIONS: EXTENSION}, "neither frazil.rest.users.file is set nor"),
        ({USERS_FILE: "/no/such/file"}, "/no/such/file cannot be read: No such file"),
    ],
)
def test_what_cannot_be_used(properties: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Users.load(properties, {})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no user"),
        ("ops=\n", "has no password for user ops"),
        ("ops=scrypt$99$a$b\n", "damaged hash for user ops"),
    ],
)
def test_files_that_would_let_the_wrong_ones_in(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "users.properties"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        Users.load({USERS_FILE: str(file)}, {})


def test_a_role_behind_a_hash_that_is_none_is_told(tmp_path: Path) -> None:
    file = tmp_path / "users.properties"
    file.write_text(f"ann={hashed('x')} root\n")
    with pytest.raises(ConfigError, match="user ann, or a role behind it that is none of reader, operator, admin"):
        Users.load({USERS_FILE: str(file)}, {})
    file.write_text("ann=secret reader\n")
    users = Users.load({USERS_FILE: str(file)}, {})
    assert users is not None
    assert users.admit("ann", "secret reader")
    assert users.role("ann") is Role.ADMIN
