"""Threads of the worker's Python process, as Spring's actuator shows those of a JVM."""

from __future__ import annotations

import sys
import threading
import traceback
from typing import Any


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
