from __future__ import annotations

import re
from pathlib import Path

import pytest

from frazil.clients.kafka.certificates import identity, trusted
from frazil.errors import ConfigError
from tests.tls import PASSWORD, Authority, unencrypted


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


def store(location: Path, **more: str) -> dict[str, str]:
    return {"ssl.keystore.location": str(location), "ssl.keystore.password": PASSWORD, **more}


def test_every_kind_of_store_gives_the_same_identity(authority: Authority) -> None:
    pem = {"ssl.keystore.type": "PEM", "ssl.key.password": PASSWORD}
    text = authority.encrypted_pem(authority.client, "c").read_text()
    key, chain = text.split("-----BEGIN CERTIFICATE-----", 1)
    for config in (
        {"ssl.keystore.location": str(authority.pem(authority.client, "c")), "ssl.keystore.type": "pem"},
        {"ssl.keystore.location": str(authority.encrypted_pem(authority.client, "c")), **pem},
        {"ssl.keystore.key": key, "ssl.keystore.certificate.chain": f"-----BEGIN CERTIFICATE-----{chain}", **pem},
        store(authority.pkcs12(authority.client, "c")),
        store(authority.jks(authority.client, "c"), **{"ssl.keystore.type": "JKS"}),
        store(authority.jks(authority.client, "other", "key-secret"), **{"ssl.key.password": "key-secret"}),
    ):
        found = identity({f"x.{name}": value for name, value in config.items()}, "x.")
        assert found is not None
        assert unencrypted(found.key) == unencrypted(authority.client.private_key_pem.bytes().decode())
        own = authority.client.cert_chain_pems[0].bytes().decode().strip()
        assert found.certificates.startswith(own), config
        assert found.key not in repr(found)


def test_every_kind_of_trust_store_gives_the_same_certificates(authority: Authority) -> None:
    name = "ssl.truststore."
    ca = authority.ca_file.read_text()
    for config in (
        {f"{name}location": str(authority.ca_file), f"{name}type": "PEM"},
        {f"{name}certificates": ca, f"{name}type": "PEM"},
        {f"{name}location": str(authority.trust_pkcs12), f"{name}password": PASSWORD},
        {f"{name}location": str(authority.trust_jks), f"{name}password": PASSWORD, f"{name}type": "JKS"},
    ):
        assert (trusted(config) or "").split() == ca.split(), config
    assert trusted({}) is None
    assert identity({}) is None


def test_what_cannot_be_used_names_the_key_and_no_password(authority: Authority, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    p12, jks = authority.pkcs12(authority.client, "c"), authority.jks(authority.client, "c")
    pem = str(authority.encrypted_pem(authority.client, "c"))
    for config, message in (
        (store(tmp_path / "none"), "ssl.keystore.location: .*none cannot be read: No such file"),
        (store(nothing), "ssl.keystore.password does not open .*nothing.pem, or it is neither"),
        (store(nothing, **{"ssl.keystore.type": "PEM"}), "ssl.keystore.location: expected one private key"),
        ({**store(p12), "ssl.keystore.password": "wrong-secret"}, "ssl.keystore.password does not open"),
        ({**store(jks), "ssl.keystore.password": "wrong-secret"}, "ssl.keystore.password does not open"),
        ({"ssl.keystore.location": str(jks)}, "ssl.keystore.password is not set"),
        (
            {"ssl.keystore.location": pem, "ssl.keystore.type": "PEM", "ssl.key.password": "wrong-secret"},
            "ssl.key.password does not open the private key",
        ),
        ({"ssl.keystore.location": pem, "ssl.keystore.type": "PEM"}, "ssl.key.password does not open"),
    ):
        with pytest.raises(ConfigError) as error:
            identity(config)
        assert re.match(message, str(error.value)), str(error.value)
        assert "secret" not in str(error.value)
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.location: there is no certificate in it"):
        trusted({"ssl.truststore.location": str(nothing), "ssl.truststore.type": "PEM"})
