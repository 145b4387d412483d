"""Certificates of an authority made for a test, in the stores that Kafka's keys name."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate

PASSWORD = "store-secret"


@dataclass
class Authority:
    """An authority with a server's and a client's certificate; files are made in `folder` when they are asked for."""

    folder: Path

    @cached_property
    def ca(self) -> trustme.CA:
        return trustme.CA()

    @cached_property
    def ca_file(self) -> Path:
        path = self.folder / "ca.pem"
        self.ca.cert_pem.write_to_path(str(path))
        return path

    @cached_property
    def server(self) -> trustme.LeafCert:
        return self.ca.issue_cert("127.0.0.1", "localhost")

    @cached_property
    def client(self) -> trustme.LeafCert:
        return self.ca.issue_cert("client@example.org", common_name="client")

    def pem(self, leaf: trustme.LeafCert, name: str) -> Path:
        """Key and certificates in one file."""
        path = self.folder / f"{name}.pem"
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())  # Java reads no other form
        path.write_bytes(text + leaf.cert_chain_pems[0].bytes())
        return path

    def encrypted_pem(self, leaf: trustme.LeafCert, name: str) -> Path:
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(PASSWORD.encode()))
        path = self.folder / f"{name}-encrypted.pem"
        path.write_bytes(text + leaf.cert_chain_pems[0].bytes())
        return path

    def pkcs12(self, leaf: trustme.LeafCert, name: str) -> Path:
        key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
        certificate = load_pem_x509_certificate(leaf.cert_chain_pems[0].bytes())
        root = load_pem_x509_certificate(self.ca.cert_pem.bytes())
        path = self.folder / f"{name}.p12"
        encryption = BestAvailableEncryption(PASSWORD.encode())
        path.write_bytes(pkcs12.serialize_key_and_certificates(b"own", key, certificate, [root], encryption))  # type: ignore[arg-type]
        return path

    def jks(self, leaf: trustme.LeafCert, name: str, key_password: str = PASSWORD) -> Path:
        """A JKS store made by Java's own tool, with a password of its own for the key."""
        path = self.folder / f"{name}.jks"
        source = self.pkcs12(leaf, name)
        _keytool(
            "-importkeystore", "-noprompt", "-srckeystore", str(source), "-srcstoretype", "PKCS12",
            "-srcstorepass", PASSWORD, "-destkeystore", str(path), "-deststoretype", "JKS", "-deststorepass", PASSWORD,
            "-srcalias", "own", "-destkeypass", key_password,
        )  # fmt: skip
        return path

    @cached_property
    def trust_jks(self) -> Path:
        path = self.folder / "trust.jks"
        _keytool(
            "-importcert", "-noprompt", "-alias", "ca", "-file", str(self.ca_file), "-keystore", str(path),
            "-storetype", "JKS", "-storepass", PASSWORD,
        )  # fmt: skip
        return path

    @cached_property
    def trust_pkcs12(self) -> Path:
        path = self.folder / "trust.p12"
        _keytool(
            "-importcert", "-noprompt", "-alias", "ca", "-file", str(self.ca_file), "-keystore", str(path),
            "-storetype", "PKCS12", "-storepass", PASSWORD,
        )  # fmt: skip
        return path


def _keytool(*arguments: str) -> None:
    subprocess.run(["keytool", *arguments], check=True, capture_output=True)


def unencrypted(pem: str) -> bytes:
    """The private key of a PEM text, in one spelling."""
    return load_pem_private_key(pem.encode(), None).private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
