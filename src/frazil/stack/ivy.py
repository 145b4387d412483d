"""Runs the Apache Ivy that PySpark ships: it downloads Maven artifacts without a Maven installation."""

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import cast
from xml.sax.saxutils import quoteattr

from frazil.environment.paths import expanded
from frazil.errors import StackError
from frazil.stack.process import minimal_env
from frazil.stack.truststore import CERTIFICATE_VARIABLES, trust_options

Progress = Callable[[str], None]

# Without an import of PySpark, which takes a while.
PYSPARK_JARS = Path(str(cast(ModuleSpec, find_spec("pyspark")).origin)).parent / "jars"

_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <timeout-constraints>
    <timeout-constraint name="bounded" connectionTimeout="10000" readTimeout="60000"/>
  </timeout-constraints>
  <resolvers>
    <ibiblio name="central" m2compatible="true" usepoms={use_poms} timeoutConstraint="bounded"/>
  </resolvers>
</ivysettings>
"""
_MODULE = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="frazil" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_DOWNLOADED = re.compile(r"\[SUCCESSFUL \] ([^#\s]+)#([^;\s]+);([^!\s]+)!(\S+)")
_UNTRUSTED = "PKIX path building failed"
_CAUSES = (
    _UNTRUSTED,
    "module not found:",
    "not found",
    "Server access error",
    "[FAILED",
    "download failed",
    "Exception",
    "invalid",
)


def retrieve(
    java: Path,
    coordinates: Iterable[str],
    target: Path,
    ivy_home: Path,
    settings: Path | None,
    progress: Progress,
    env: Mapping[str, str],
    *,
    transitive: bool = False,
    layout: str = "",
    links: bool = False,
) -> None:
    """Download the files of `coordinates` into the folder `target`.

    A coordinate is `org:name:version[:classifier]` for a jar, `org:name:version@ext` for a file of another kind.
    `ivy_home` is Ivy's cache (the user's own Ivy folder is never touched). `settings` is an Ivy settings file that
    names other repositories; without it Ivy's built-in Maven Central is used. With `transitive` the dependencies that
    the published metadata names come along. `layout` is an Ivy pattern for folders inside `target`. With `links` the
    files there are links into Ivy's cache. `progress` gets one line per artifact. `JAVA_TOOL_OPTIONS` in `env` has
    options for Java, such as a proxy. Raises StackError that names the artifact and the cause.
    """
    wanted = list(coordinates)
    types = {"jar", "bundle"} if any("@" not in coordinate for coordinate in wanted) else set()
    types |= {coordinate.partition("@")[2] for coordinate in wanted if "@" in coordinate}
    with tempfile.TemporaryDirectory(prefix="frazil-ivy-") as folder:
        module = Path(folder, "ivy.xml")
        module.write_text(_MODULE.format(dependencies="\n".join(_dependency(c, transitive) for c in wanted)))
        if settings is None:
            settings = Path(folder, "ivysettings.xml")
            settings.write_text(_SETTINGS.format(use_poms=quoteattr(str(transitive).lower())))
        command = [
            str(java),
            *trust_options(env),
            f"-Divy.default.ivy.user.dir={ivy_home}",
            "-jar",
            str(next(PYSPARK_JARS.glob("ivy-*.jar"))),
            *("-settings", str(settings), "-cache", str(ivy_home), "-ivy", str(module), "-types", *sorted(types)),
            *("-retrieve", f"{target}/{layout}[artifact]-[revision](-[classifier]).[ext]"),
            *(["-symlink"] if links else []),
        ]
        lines: list[str] = []
        with subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=minimal_env(env)
        ) as process:
            done = 0
            try:
                for line in process.stdout or ():
                    lines.append(line.strip())
                    if downloaded := _DOWNLOADED.search(line):
                        done += 1
                        of_total = "" if transitive else f"/{len(wanted)}"
                        suffix = downloaded[4].partition("(")[0].removeprefix(downloaded[2])
                        progress(f"{done}{of_total} {downloaded[2]}-{downloaded[3]}{suffix}")
            except BaseException:
                process.kill()
                raise
    if process.returncode != 0:
        what = "jars" if "jar" in types else "archives"
        if any(_UNTRUSTED in line for line in lines):
            raise StackError(
                f"downloading {what} failed: {_cause(lines)}. Java does not trust the certificate that the repository "
                "shows, which is that of a proxy where one signs anew. Nothing was installed. Set "
                f"{CERTIFICATE_VARIABLES[0]} or {CERTIFICATE_VARIABLES[1]} to a PEM file with the certificate of its "
                "issuer, then run the same command again; what is downloaded already is kept."
            )
        raise StackError(
            f"downloading {what} failed: {_cause(lines)}. Nothing was installed. Check the network and its proxy "
            "(JAVA_TOOL_OPTIONS passes options to Java), or set FRAZIL_IVY_SETTINGS to an Ivy settings file that names "
            "a repository you can reach, then run the same command again; what is downloaded already is kept."
        )


def user_settings(env: Mapping[str, str]) -> Path | None:
    """The Ivy settings file that `FRAZIL_IVY_SETTINGS` names."""
    named = env.get("FRAZIL_IVY_SETTINGS", "")
    return expanded("FRAZIL_IVY_SETTINGS", named).resolve() if named else None


def _dependency(coordinate: str, transitive: bool) -> str:
    coordinate, _, extension = coordinate.partition("@")
    organisation, name, version, *classifier = coordinate.split(":")
    attributes = (
        f"org={quoteattr(organisation)} name={quoteattr(name)} rev={quoteattr(version)} "
        f'conf="default->default" transitive="{str(transitive).lower()}" force="true"'
    )
    if not classifier and not extension:
        return f"<dependency {attributes}/>"
    kind = quoteattr(extension or "jar")
    of_classifier = f" m:classifier={quoteattr(classifier[0])}" if classifier else ""
    artifact = f"<artifact name={quoteattr(name)} type={kind} ext={kind}{of_classifier}/>"
    return f"<dependency {attributes}>{artifact}</dependency>"


def _cause(lines: list[str]) -> str:
    causes = dict.fromkeys(line.strip(": ") for line in lines if any(text in line for text in _CAUSES))
    text = "; ".join(list(causes)[:4]) or "; ".join(lines[-3:]) or "Ivy ended without a message"
    return re.sub(r"//[^/@\s]+@", "//***@", text)
