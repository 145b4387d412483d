"""What logins may cost."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import httpx
import pytest

from frazil.worker.rest.security import login
from frazil.worker.rest.security.login import Attempts, BasicAuthentication
from frazil.worker.rest.security.users import USERS_FILE, Users, hashed
from tests.worker.rest.security.serving import Serve


def test_an_address_with_wrong_passwords_waits_and_others_do_not() -> None:
    attempts = Attempts()
    waits = [attempts.wait_s("10.0.0.1", 0.0) for _ in range(40)]
    assert waits[:11] == [0.0] * 11
    assert waits[11:21] == [float(n) for n in range(1, 11)]
    assert set(waits[21:]) == {11.0}
    assert attempts.wait_s("10.0.0.2", 0.0) == 0.0
    assert attempts.wait_s("10.0.0.1", 12.0) == 0.0
    attempts.forget("10.0.0.1")
    assert attempts.wait_s("10.0.0.1", 12.0) == 0.0


def test_the_addresses_that_are_remembered_are_bounded() -> None:
    attempts = Attempts()
    for number in range(5000):
        attempts.wait_s(str(number), 0.0)
    assert len(attempts._free_at) == 1024  # noqa: SLF001


def test_too_many_wrong_passwords_are_refused_and_a_known_one_is_not(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "_LONGEST_S", 0.0)
    monkeypatch.setattr(login, "_EACH_S", 600.0)  # however slow the machine is
    file = tmp_path / "users.properties"
    file.write_text(f"ops={hashed('top-secret')}\n")
    url, _ = serve({USERS_FILE: str(file)})
    assert httpx.get(f"{url}/connectors", auth=("ops", "top-secret")).status_code == 200
    answers = [httpx.get(f"{url}/connectors", auth=("ops", f"wrong {n}")) for n in range(13)]
    assert {answer.status_code for answer in answers[:10]} == {401}
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert httpx.get(f"{url}/connectors", auth=("ops", "top-secret")).status_code == 200


def test_few_passwords_are_checked_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    running, most, lock = 0, 0, threading.Lock()

    class Slow(Users):
        def admit(self, user: str, password: str) -> bool:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            time.sleep(0.01)
            with lock:
                running -= 1
            return False

    async def ask() -> None:
        asked = BasicAuthentication(lambda scope, receive, send: asyncio.sleep(0), Slow({"u": "p"}))
        scope = {"type": "http", "path": "/", "method": "GET", "client": ("10.0.0.1", 1)}
        await asyncio.gather(*(asked._check(scope, "u", "wrong") for _ in range(8)))  # noqa: SLF001

    asyncio.run(ask())
    assert most == 2
