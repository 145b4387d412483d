"""The machine: Python, memory, disk, open files, and its clock beside that of the store."""

import resource
import shutil
import sys
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

import httpx
import psutil

from frazil.connectors.keys.versions import VERSION
from frazil.doctor.finding import Finding, Look

_MIB = 1 << 20
_LEAST_MEMORY, _LEAST_DISK, _FULL_DISK = 500 * _MIB, 5_000 * _MIB, 1_000 * _MIB
_LEAST_FILES = 4_096
_SKEW_S, _REFUSED_SKEW_S = 5, 300


def versions(look: Look) -> Iterator[Finding]:
    """Versions of Python and of frazil."""
    now = ".".join(map(str, sys.version_info[:3]))
    yield Finding("versions", "ok", f"frazil {VERSION} on Python {now}")


def memory(look: Look) -> Iterator[Finding]:
    """Memory that programs can still have."""
    free = psutil.virtual_memory().available
    what = f"{free // _MIB:,} MiB of memory can be had"
    if free >= _LEAST_MEMORY:
        yield Finding("memory", "ok", what)
        return
    yield Finding(
        "memory",
        "warning",
        f"only {what}",
        "the system may end the worker or a service without a word in its log",
        "give it more, stop other programs, or lower SPARK_DRIVER_MEMORY",
    )


def disk(look: Look) -> Iterator[Finding]:
    """Room on the disks of home and cache."""
    home = look.settings.home
    place = home if home.exists() else home.parent
    free = shutil.disk_usage(place).free
    what = f"{free // _MIB:,} MiB are free on the disk of {home}"
    if free >= _LEAST_DISK:
        yield Finding("disk", "ok", what)
        return
    yield Finding(
        "disk",
        "warning" if free >= _FULL_DISK else "problem",
        f"only {what}",
        "services do not start, Kafka and the store of the stack take nothing more, batches fail",
        "free some space, or move the home with FRAZIL_HOME",
    )


def open_files(look: Look) -> Iterator[Finding]:
    """Files that a process may have open."""
    most, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY or most >= _LEAST_FILES:
        yield Finding("open files", "ok", f"a process may have {most:,} files open")
        return
    yield Finding(
        "open files",
        "warning",
        f"a process may have only {most:,} files open",
        "Kafka and Spark fail with `Too many open files` under load",
        f"raise it: `ulimit -n {min(65_536, highest)}` before the start, or LimitNOFILE of the systemd unit",
    )


def clock(look: Look) -> Iterator[Finding]:
    """The clock beside that of the store, which refuses requests that are signed at another time."""
    endpoint = look.settings.s3_endpoint
    try:
        sent = time.time()
        date = httpx.head(endpoint, timeout=5.0).headers.get("Date")
        now = (sent + time.time()) / 2
    except httpx.HTTPError as error:
        yield Finding("clock", "warning", f"the store at {endpoint} does not tell the time ({type(error).__name__})")
        return
    if date is None:
        yield Finding("clock", "ok", f"the store at {endpoint} does not tell the time")
        return
    apart = now - parsedate_to_datetime(date).timestamp()
    if abs(apart) <= _SKEW_S:
        yield Finding("clock", "ok", "the clock is that of the store")
        return
    yield Finding(
        "clock",
        "problem" if abs(apart) > _REFUSED_SKEW_S else "warning",
        f"the clock is {abs(apart):,.0f} s {'ahead of' if apart > 0 else 'behind'} that of the store at {endpoint}",
        "maintenance stops at 5 minutes, and stores refuse all requests at 15; times of records are wrong",
        "let both follow a time server (NTP)",
    )
