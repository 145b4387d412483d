from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from frazil.environment.settings import Settings
from frazil.environment.variables import VARIABLES
from frazil.errors import ConfigError

_OTHER_VALUE = {
    "port": "12345",
    "url": "https://other.example",
    "path": "/other",
    "secret": "other",
    "text": "other",
    "switch": "false",
    "count": "7",
}
_PROPERTIES = [name for name, value in vars(Settings).items() if isinstance(value, property) or hasattr(value, "func")]


def resolved(settings: Settings) -> dict[str, Any]:
    """Every property, and the catalog's properties."""
    return {name: getattr(settings, name) for name in _PROPERTIES} | settings.catalog_properties()


def test_defaults() -> None:
    settings = Settings({"HOME": "/home/somebody"})
    assert settings.home == Path(".frazil").resolve()
    assert settings.cache == Path("/home/somebody/.cache/frazil")
    assert settings.logs == settings.home / "logs"
    assert settings.bootstrap_servers == "127.0.0.1:9092"
    assert settings.kafka_controller_port == 9093
    assert settings.s3_endpoint == "http://127.0.0.1:9000"
    assert settings.catalog_uri == "http://127.0.0.1:8181"
    assert (settings.access_key, settings.secret_key, settings.region) == ("minioadmin", "minioadmin", "us-east-1")
    assert (settings.warehouse, settings.namespace) == ("kafkawarehouse", "streaming")
    assert settings.topics == {"api": "apilogs", "error": "errorlogs", "audit": "auditlogs"}
    assert settings.connect_url == "http://127.0.0.1:8083"
    assert settings.actuator_port == 8081
    assert (settings.spark_master, settings.spark_memory) == ("local[*]", "1g")
    assert (settings.trino_url, settings.sql_catalog) == ("http://127.0.0.1:9999", "kafkawarehouse")
    assert not (settings.kafka_external or settings.s3_external or settings.connect_external or settings.trino_external)


@pytest.mark.parametrize(
    "name",
    [
        variable.name
        for variable in VARIABLES.values()
        if not variable.no_effect
        # Read by whoever uses them, from `Settings.env` or the process environment.
        and variable.name
        not in (
            "FRAZIL_ENV_FILE",
            "FRAZIL_IVY_SETTINGS",
            "JAVA_HOME",
            "JAVA_TOOL_OPTIONS",
            "SSL_CERT_FILE",
            "REQUESTS_CA_BUNDLE",
            "TRINO_USER",
            "TRINO_PASSWORD",
            "TRINO_TOKEN",
            "TRINO_CA_FILE",
            "KAFKA_OPTS",
            "KAFKA_CONNECT_PASSWORD",
            "KAFKA_CONNECT_CA_FILE",
            "KAFKA_CONNECT_CERT_FILE",
            "KAFKA_CONNECT_KEY_FILE",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        )
    ],
)
def test_each_variable_changes_something(name: str) -> None:
    variable = VARIABLES[name]
    value = "true" if variable.default == "false" else _OTHER_VALUE[variable.kind]
    assert resolved(Settings({name: value})) != resolved(Settings({}))


def test_blank_is_unset() -> None:
    blank = {name: "  " for name in VARIABLES}
    assert resolved(Settings(blank)) == resolved(Settings({}))


def test_ports_make_addresses() -> None:
    settings = Settings({"KAFKA_EXTERNAL_PORT": "1", "DEST_API_PORT": "2", "ICEBERG_CATALOG_PORT": "3"})
    assert settings.bootstrap_servers == "127.0.0.1:1"
    assert settings.s3_endpoint == "http://127.0.0.1:2"
    assert settings.catalog_uri == "http://127.0.0.1:3"


def test_an_external_store_brings_its_catalog() -> None:
    settings = Settings({"MINIO_ENDPOINT": "http://minio:9000/"})
    assert settings.s3_external
    assert settings.catalog_uri == "http://minio:9000/_iceberg"
    other = Settings({"MINIO_ENDPOINT": "http://minio:9000", "ICEBERG_CATALOG_URI": "http://catalog:8181/"})
    assert other.catalog_uri == "http://catalog:8181"


def test_fallbacks_give_way_to_the_name_itself() -> None:
    assert Settings({"SOURCE_API_PORT": "9010"}).s3_port == 9010
    assert Settings({"SOURCE_API_PORT": "9010", "DEST_API_PORT": "9020"}).s3_port == 9020
    assert Settings({"MINIO_ROOT_USER": "root", "MINIO_ACCESS_KEY": "key"}).access_key == "key"
    assert Settings({"MINIO_ROOT_PASSWORD": "root"}).secret_key == "root"


@pytest.mark.parametrize("name", [v.name for v in VARIABLES.values() if v.kind == "port"])
@pytest.mark.parametrize("value", ["0", "65536", "-1", "nine", "9_000", "٩٠٠٠", "1" * 5000])
def test_a_wrong_port_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}={value}: expected a port"):
        Settings.load({name: value}, env_file=Path(os.devnull))


@pytest.mark.parametrize("name", [v.name for v in VARIABLES.values() if v.kind == "url"])
def test_a_wrong_url_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}=minio:9000: expected a URL"):
        Settings.load({name: "minio:9000"}, env_file=Path(os.devnull))
    with pytest.raises(ConfigError, match=f"^{name}: its value is not a URL"):
        Settings.load({name: "http://[::1"}, env_file=Path(os.devnull))


@pytest.mark.parametrize("name", [v.name for v in VARIABLES.values() if v.kind == "switch"])
def test_a_switch_is_true_or_false(name: str) -> None:
    assert Settings.load({name: "FALSE"}, env_file=Path(os.devnull))
    with pytest.raises(ConfigError, match=f"^{name}=yes: expected true or false"):
        Settings.load({name: "yes"}, env_file=Path(os.devnull))


def test_config_providers_are_keys_of_the_worker(tmp_path: Path) -> None:
    (tmp_path / "secrets.properties").write_text("password=swordfish\n")
    env = {
        "CONNECT_CONFIG_PROVIDERS": "file",
        "CONNECT_CONFIG_PROVIDERS_FILE_CLASS": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "CONNECT_CONFIG_PROVIDERS_FILE_PARAM_ALLOWED_PATHS": str(tmp_path),
        "CONNECT_TOPIC_TRACKING_ENABLE": "true",
    }
    sent = {"password": f"${{file:{tmp_path}/secrets.properties:password}}"}
    assert Settings(env).providers().resolve(sent).config == {"password": "swordfish"}
    assert Settings({}).providers().resolve(sent).config == sent


def test_a_wrong_fallback_is_refused_by_its_own_name() -> None:
    with pytest.raises(ConfigError, match="^SOURCE_API_PORT=x: "):
        _ = Settings({"SOURCE_API_PORT": "x"}).s3_port


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "frazil.env"
    file.write_text("# a comment\nWAREHOUSE_NAME=filehouse\nNAMESPACE_NAME='file $HOME'\n")
    settings = Settings.load({"WAREHOUSE_NAME": "envhouse", "FRAZIL_ENV_FILE": str(file)})
    assert settings.warehouse == "envhouse"
    assert settings.namespace == "file $HOME"


def test_dot_env_of_the_working_directory_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("ACTUATOR_PORT=18081\n")
    monkeypatch.chdir(tmp_path)
    assert Settings.load({}).actuator_port == 18081


def test_a_folder_is_no_file_with_variables(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is a folder and no file with variables"):
        Settings.load({"FRAZIL_ENV_FILE": str(tmp_path)})


@pytest.mark.parametrize("name", ["FRAZIL_HOME", "FRAZIL_CACHE", "FRAZIL_ENV_FILE"])
def test_a_home_folder_of_nobody_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}=~nosuchuser/x: there is no home folder"):
        resolved(Settings.load({name: "~nosuchuser/x"}))


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        Settings.load({"FRAZIL_ENV_FILE": str(tmp_path / "missing")})


def test_access_to_the_worker(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    access = Settings(
        {
            "KAFKA_CONNECT_URL": "https://far.example:8083/",
            "KAFKA_CONNECT_USER": "ops",
            "KAFKA_CONNECT_PASSWORD": "top-secret",
            "KAFKA_CONNECT_CA_FILE": str(ca),
        }
    ).connect_access
    assert (access.url, access.user, access.password) == ("https://far.example:8083", "ops", "top-secret")
    assert access.ca_file == ca
    assert "top-secret" not in repr(access)
    with pytest.raises(ConfigError, match="a password is given without a user"):
        _ = Settings({"KAFKA_CONNECT_PASSWORD": "x"}).connect_access
    with pytest.raises(ConfigError, match="a key file is given without a certificate file"):
        _ = Settings({"KAFKA_CONNECT_KEY_FILE": str(ca)}).connect_access


def test_listeners_of_the_worker() -> None:
    settings = Settings({"CONNECT_LISTENERS": "https://0.0.0.0:9443,http://127.0.0.1:8083"})
    assert [listener.bind for listener in settings.listeners] == ["0.0.0.0", "127.0.0.1"]  # noqa: S104
    assert (settings.connect_url, settings.connect_port) == ("https://127.0.0.1:9443", 9443)
    assert Settings({"CONNECT_LISTENERS": "http://:1"}).listeners[0].bind == "0.0.0.0"  # noqa: S104
    assert Settings({"CONNECT_LISTENERS": "http://[::1]:1"}).connect_url == "http://[::1]:1"
    for wrong in ("127.0.0.1:1", "http://x", "ftp://x:1", "http://x:1/path", "http://x:port"):
        with pytest.raises(ConfigError, match="listeners has"):
            _ = Settings({"CONNECT_LISTENERS": wrong}).listeners


def test_security_of_kafka(tmp_path: Path) -> None:
    properties = tmp_path / "secrets.properties"
    properties.write_text("password=from-file\n")
    settings = Settings(
        {
            "KAFKA_BOOTSTRAP_SERVERS": "k:9092",
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SSL_TRUSTSTORE_PASSWORD": f"${{file:{properties}:password}}",
            "CONNECT_CONFIG_PROVIDERS": "file",
            "CONNECT_CONFIG_PROVIDERS_FILE_CLASS": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "CONNECT_CONSUMER_SASL_MECHANISM": "PLAIN",
            "CONNECT_SASL_MECHANISM": "SCRAM-SHA-512",
        }
    )
    assert settings.bootstrap_servers == "k:9092"
    assert settings.bootstrap_servers.settings("admin") == {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.password": "from-file",
        "sasl.mechanism": "SCRAM-SHA-512",
    }
    assert settings.bootstrap_servers.settings("consumer")["sasl.mechanism"] == "PLAIN"
    with pytest.raises(ConfigError, match="the embedded broker listens on loopback and asks for nothing"):
        Settings.load({"KAFKA_SECURITY_PROTOCOL": "SSL"}, env_file=Path(os.devnull))


def test_names_of_the_file_that_are_nearly_variables_are_told(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("WAREHOUSE_NMAE=mine\nPOSTGRES_PASSWORD=x\nCONNECT_GROUP_ID=g\nNAMESPACE_NAME=n\n")
    (remark,) = Settings.load({"OTHER_NAMESPACE_NAMES": "x"}, env_file=file).remarks
    assert remark == f"{file}: WAREHOUSE_NMAE is no variable and has no effect; did you mean WAREHOUSE_NAME?"
