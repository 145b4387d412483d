"""Files that a verb writes: whole or not at all."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from frazil.errors import UsageError


@contextmanager
def whole_file(path: Path, option: str = "") -> Iterator[Callable[[bytes], None]]:
    """A function that writes a file's content at once: readers see what was there, or all that is new.

    What is there and no regular file, such as a pipe or `/dev/stdout`, is written to and never replaced. Raises
    UsageError, which begins with `option`, when the path cannot be written: at the start of the block, before the work
    for the content is done, and where that is not known yet, by the function.
    """
    label = f"{option} {path}".strip()
    with _told(label):
        special = path.exists() and not path.is_file()
    if special:
        with _told(label):
            stream = path.open("wb")
        with stream:
            yield lambda content: _put(stream.fileno(), content, label)
        return
    draft = path.with_name(f".{os.getpid()}.part")
    with _told(label):
        target = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)

    def save(content: bytes) -> None:
        _put(target, content, label)
        with _told(label):
            draft.replace(path)

    try:
        yield save
    finally:
        os.close(target)
        draft.unlink(missing_ok=True)


def _put(target: int, content: bytes, label: str) -> None:
    rest = memoryview(content)
    with _told(label):
        while rest:
            rest = rest[os.write(target, rest) :]


@contextmanager
def _told(label: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{label} cannot be written: {error.strerror or error}; what was there is unchanged. Name a file in a "
            "folder that you may write"
        ) from None
