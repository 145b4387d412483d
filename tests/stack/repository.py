"""A Maven repository in a folder, for tests that must not depend on the network."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path


class Repository:
    """Holds jars whose one entry is their coordinate; `settings` is an Ivy settings file that names it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        self.settings = folder / "ivysettings.xml"
        self.settings.write_text(
            '<ivysettings><settings defaultResolver="folder"/><resolvers>'
            f'<ibiblio name="folder" m2compatible="true" root="{folder.as_uri()}"/></resolvers></ivysettings>'
        )

    def add(self, coordinate: str, needs: Sequence[str] = ()) -> None:
        """Publish a jar, with a POM that names what it needs."""
        organisation, name, version, *classifier = coordinate.split(":")
        folder = self._folder.joinpath(*organisation.split("."), name, version)
        folder.mkdir(parents=True, exist_ok=True)
        suffix = f"-{classifier[0]}" if classifier else ""
        (folder / f"{name}-{version}{suffix}.jar").write_bytes(self.content(coordinate))
        dependencies = "".join(
            "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
                *need.split(":")
            )
            for need in needs
        )
        (folder / f"{name}-{version}.pom").write_text(
            f"<project><modelVersion>4.0.0</modelVersion><groupId>{organisation}</groupId><artifactId>{name}</artifactId>"
            f"<version>{version}</version><dependencies>{dependencies}</dependencies></project>"
        )

    def add_file(self, coordinate: str, content: bytes) -> None:
        """Publish a file of another kind than a jar: `org:name:version[:classifier]@ext`."""
        path, _, extension = coordinate.partition("@")
        organisation, name, version, *classifier = path.split(":")
        folder = self._folder.joinpath(*organisation.split("."), name, version)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{'-'.join([name, version, *classifier])}.{extension}").write_bytes(content)

    @staticmethod
    def content(coordinate: str) -> bytes:
        """The bytes of a jar, always the same for one coordinate."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as jar:
            jar.writestr(zipfile.ZipInfo("coordinate"), coordinate)
        return buffer.getvalue()
