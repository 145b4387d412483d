"""Bodies of the actuator about the process: its build and machine, its threads, and the environment it was given."""

import os
import platform
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import Any

from frazil.connectors.keys.versions import VERSION
from frazil.declare.secrets import hide_secrets
from frazil.environment.variables import VARIABLES

Sources = Mapping[str, Mapping[str, str]]


def sources_of(env: Mapping[str, str], properties: Mapping[str, str]) -> Sources:
    """Variables of frazil that are set, for others are nobody's business, and the worker's keys as they were given."""
    return {
        "systemEnvironment": {name: env[name] for name in sorted(VARIABLES) if name in env},
        "workerProperties": dict(properties),
    }


def environment(sources: Sources) -> dict[str, Any]:
    """The body of /actuator/env."""
    every = {key: value for values in sources.values() for key, value in values.items()}

    def shown(values: Mapping[str, str]) -> dict[str, Any]:
        return {key: {"value": hide_secrets(value, {**every, key: value})} for key, value in values.items()}

    named = [{"name": name, "properties": shown(values)} for name, values in sources.items()]
    return {"activeProfiles": [], "propertySources": named}


def info() -> Mapping[str, object]:
    """The body of /actuator/info."""
    return {
        "build": {"name": "frazil", "version": VERSION},
        "python": {"version": platform.python_version()},
        "os": {"name": platform.system(), "version": platform.release(), "arch": platform.machine()},
        "process": {"pid": os.getpid(), "cpus": os.cpu_count()},
    }


def thread_dump() -> dict[str, Any]:
    """The body of /actuator/threaddump: each thread with what it is doing now, the innermost call first."""
    frames = sys._current_frames()  # noqa: SLF001 - documented, and the only way
    return {
        "threads": [
            {
                "threadName": thread.name,
                "threadId": thread.native_id,
                "daemon": thread.daemon,
                "stackTrace": [
                    {"methodName": call.name, "fileName": call.filename, "lineNumber": call.lineno}
                    for call in reversed(traceback.extract_stack(frames[thread.ident]))
                ],
            }
            for thread in threading.enumerate()
            if thread.ident in frames
        ]
    }
