"""Dead letters that are replayed and dropped from the console, on a cluster in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from frazil.connectors.sink import Outcome
from frazil.console import letters_change
from frazil.pipeline.letters.deadletter import DeadLetter
from tests.connectors.broker import Broker
from tests.connectors.samples import MINIMAL_S3_SINK
from tests.connectors.test_replay import KEYS
from tests.console.test_app import EVIL, Console


class Desk:
    """The page of dead letters, with `count` of one reason from connector orders."""

    def __init__(self, console: Console, broker: Broker, count: int = 4) -> None:
        self.console = console
        self.broker = broker
        broker.make("orders")
        queue = broker.queue("orders", "orders")
        queue.write(
            [DeadLetter("orders", 0, n, 0, b"key", b'{"id": "x"}', (), "id", f"no number ({n})") for n in range(count)]
        )

    @property
    def open(self) -> list[int]:
        """Offsets of the records whose dead letters are open."""
        return sorted(offset for _, _, offset, _ in self.broker.letters("orders-dlq"))

    def page(self, query: str = "") -> str:
        return self.console.client.get(f"/ui/deadletters{query}").text

    def send(self, verb: str, *places: str, **more: Any) -> httpx.Response:
        return self.console.client.post(f"/ui/deadletters/{verb}", data={"letters": list(places), **more})


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    console = Console(tmp_path)
    yield Desk(console, Broker().install(monkeypatch))
    console.close()


def test_letters_are_dropped_once_that_is_confirmed(desk: Desk) -> None:
    plan = desk.send("drop", "orders-dlq/0/0", "orders-dlq/0/2").text
    assert "Drop 2 dead letters?" in plan and "2 would be dropped" in plan and "Nothing has been changed yet" in plan
    assert desk.open == [0, 1, 2, 3]
    [places] = re.findall(r'name="letters" value="([^"]*)"', plan)
    done = desk.send("drop", places, sure="yes").text
    assert "2 dropped" in done and desk.open == [1, 3]
    assert "orders-dlq-0 @ 1<" in desk.page() and "orders-dlq-0 @ 2<" not in desk.page()
    assert "None of them is open" in desk.send("drop", places, sure="yes").text


def test_all_of_a_reason_are_chosen_at_once(desk: Desk) -> None:
    [everything] = re.findall(r'value="([^"]*)"> all 4<', desk.page())
    assert "4 dropped" in desk.send("drop", everything, sure="yes").text
    assert desk.open == []
    assert "No open dead letter" in desk.page()


def test_a_replay_tells_what_would_happen_before_it_does_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[list[int], bool]] = []

    def replayed(settings: Any, config_of: Any, log: Any, queues: Any, letters: Any, *, dry_run: bool) -> Any:
        assert config_of("orders")["topics"] == "orders"
        chosen = list(letters)
        asked.append(([letter.offset for letter in chosen], dry_run))
        yield Outcome(chosen[0], "stored")
        yield from (Outcome(letter, "fails", EVIL) for letter in chosen[1:])

    monkeypatch.setattr(letters_change, "replay_all", replayed)
    desk.console.run("orders")
    plan = desk.send("replay", "orders-dlq/0/1-3").text
    assert "Replay 3 dead letters?" in plan and "1 would be stored" in plan and "2 would fail again" in plan
    done = desk.send("replay", "orders-dlq/0/1-3", sure="yes").text
    assert "1 stored" in done and "2 open" in done and "<script>alert" not in done
    assert asked == [([1, 2, 3], True), ([1, 2, 3], False)]


def test_letters_of_a_connector_that_is_gone_stay_open_with_the_reason(desk: Desk) -> None:
    done = desk.send("replay", "orders-dlq/0/0", sure="yes").text
    assert "Connector orders not found" in done
    assert desk.open == [0, 1, 2, 3]


def test_what_cannot_be_replayed_has_no_button_for_it(desk: Desk) -> None:
    desk.console.run("orders")
    assert "deadletters/replay" in desk.page() and "--connector orders" in desk.page()
    desk.console.herder.put_config("orders", {**MINIMAL_S3_SINK, **KEYS, "name": "orders", "topics": "orders"})
    page = desk.page()
    assert "deadletters/replay" not in page and "deadletters/drop" in page
    assert "cannot be replayed, for it is no sink of Iceberg tables. They stay open. Produce each correct" in page


@pytest.mark.parametrize(
    ("places", "status", "told"),
    [
        ([], 400, "No dead letter is chosen"),
        (["orders-dlq/zero/0"], 400, "names no dead letters"),
        (["orders/0/0"], 404, "holds records, not dead letters"),
        (["other-dlq/0/0"], 404, "there is no topic other-dlq"),
    ],
)
def test_what_names_no_dead_letters_changes_nothing(desk: Desk, places: list[str], status: int, told: str) -> None:
    answer = desk.send("drop", *places, sure="yes")
    assert (answer.status_code, told in answer.text) == (status, True)
    assert desk.open == [0, 1, 2, 3]


def test_a_page_of_another_origin_changes_nothing(desk: Desk) -> None:
    for verb in ("drop", "replay"):
        answer = desk.console.client.post(
            f"/ui/deadletters/{verb}",
            data={"letters": "orders-dlq/0/0", "sure": "yes"},
            headers={"Origin": "http://evil.example"},
        )
        assert answer.status_code == 403
        assert desk.console.client.get(f"/ui/deadletters/{verb}").status_code in (404, 405)
    assert desk.open == [0, 1, 2, 3]


def test_older_letters_are_a_further_look_away(desk: Desk) -> None:
    page = desk.page("?newest=3")
    assert "1 older ones were not looked at" in page and '"/ui/deadletters?newest=30"' in page
    assert "older" not in desk.page("?newest=30")
    assert "newest 500 messages" in desk.page("?newest=-1")
