"""The jars that the stack runs on: exact artifacts with checksums, downloaded once into the cache.

Every set has a lock file in `locks/` with one line `org:name:version[:classifier] sha256` per jar; `scripts.jar_locks`
renews them. A set is complete or absent: it is built in a temporary folder, verified and renamed.
"""

import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from frazil.errors import StackError
from frazil.stack.ivy import PYSPARK_JARS, Progress, retrieve, user_settings

LOCKS = Path(__file__).parent / "locks"


@dataclass(frozen=True)
class JarSet:
    """A named set of jars. `linked` names jars that PySpark ships and that the set needs as well."""

    name: str
    linked: tuple[str, ...] = ()

    @cached_property
    def locked(self) -> dict[str, str]:
        """SHA-256 by coordinate `org:name:version[:classifier]`."""
        lines = (LOCKS / f"{self.name}.txt").read_text().split("\n")
        return dict(line.split() for line in lines if line and not line.startswith("#"))

    @property
    def coordinates(self) -> tuple[str, ...]:
        return tuple(self.locked)

    def folder(self, cache: Path) -> Path:
        """Folder of the jars once `resolve` has returned; changes with any coordinate or checksum."""
        digest = hashlib.sha256("\n".join([*map(" ".join, self.locked.items()), *self.linked]).encode()).hexdigest()
        return cache / "jars" / f"{self.name}-{digest[:12]}"


# The broker's tree contains Kafka Connect's runtime, JSON converter and transforms, with their logging.
KAFKA = JarSet("kafka")
CONNECT = KAFKA
# Iceberg for Spark, with the parts of the AWS SDK that S3 and SigV4 need: a fifth of Iceberg's own bundle.
ICEBERG_SPARK = JarSet("iceberg-spark")
CONNECT_FILE = JarSet("connect-file")
JMX_EXPORTER = JarSet("jmx-exporter")
AVRO_CONVERTER = JarSet("avro-converter")
# The plugin needs Hadoop's client, or its tasks die while the connector says RUNNING.
ICEBERG_CONNECT = JarSet("iceberg-connect", ("hadoop-client-api-3.4.2.jar", "hadoop-client-runtime-3.4.2.jar"))


def resolve(jar_set: JarSet, java: Path, cache: Path, progress: Progress, env: Mapping[str, str]) -> list[Path]:
    """The jars of a set, downloaded first when they are not in `cache` yet.

    `progress` gets one line per downloaded jar. `FRAZIL_IVY_SETTINGS` in `env` is the path of an Ivy settings file for
    other repositories than Maven Central, `JAVA_TOOL_OPTIONS` has options for Java, such as a proxy. Raises StackError
    when a download fails or a checksum differs; then the set is absent and the next call tries again.
    """
    folder = jar_set.folder(cache)
    if not _complete(jar_set, folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(folder.parent / f"{jar_set.name}.lock", f"{jar_set.name} jars", progress):
            if not _complete(jar_set, folder):
                _build(jar_set, java, cache, folder, progress, env)
    return sorted(folder.glob("*.jar"))


def file_name(coordinate: str) -> str:
    """Name of an artifact's file: `name-version[-classifier].jar`, or with the extension behind `@`."""
    path, _, extension = coordinate.partition("@")
    return "-".join(path.split(":")[1:]) + f".{extension or 'jar'}"


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _complete(jar_set: JarSet, folder: Path) -> bool:
    """A folder appears by one rename, so it is whole; a link into a PySpark that is gone makes it incomplete again."""
    names = (*map(file_name, jar_set.coordinates), *jar_set.linked)
    return folder.is_dir() and all((folder / name).exists() for name in names)


def _build(jar_set: JarSet, java: Path, cache: Path, folder: Path, progress: Progress, env: Mapping[str, str]) -> None:
    draft = Path(tempfile.mkdtemp(prefix=f".{jar_set.name}-", dir=folder.parent))
    try:
        retrieve(
            java,
            jar_set.coordinates,
            draft,
            cache / "ivy",
            user_settings(env),
            lambda text: progress(f"{jar_set.name} jars: {text}"),
            env,
        )
        for coordinate, expected in jar_set.locked.items():
            jar = draft / file_name(coordinate)
            if not jar.is_file():
                raise StackError(f"the repository has no jar for {coordinate}. Nothing was installed.")
            if sha256(jar) != expected:
                raise StackError(
                    f"{coordinate} is not the file that the lock names (SHA-256 differs). Nothing was installed. "
                    f"Remove {cache / 'ivy'} and try again; if it stays so, do not trust the repository."
                )
        for name in jar_set.linked:
            (draft / name).symlink_to(PYSPARK_JARS / name)
        if folder.exists():
            shutil.rmtree(folder)
        draft.chmod(0o755)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft)
        raise


@contextmanager
def exclusive(path: Path, what: str, progress: Progress) -> Iterator[None]:
    """Hold a lock file; a second process waits until the first has finished its download."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"{what}: waiting for another process that is downloading")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
