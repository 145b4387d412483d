"""Prints user events as JSON lines: valid by the schema in `docs/examples`, but for every thousandth."""

from __future__ import annotations

import json
import random
import sys
from datetime import UTC, datetime, timedelta

_TYPES = ("page_view", "click", "search", "add_to_cart", "purchase", "logout")
_COUNTRIES = ("de", "fr", "jp", "us", "br")
_ODD = 1000


def event(number: int, rng: random.Random, start: datetime) -> dict[str, object]:
    """One event; every thousandth has a text for its user."""
    user = rng.randrange(1, 50_000)
    return {
        "user_id": f"user {user}" if number % _ODD == _ODD - 1 else user,
        "event_type": rng.choice(_TYPES),
        "timestamp": (start + timedelta(milliseconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "properties": {
            "session": f"{rng.getrandbits(64):016x}",
            "country": rng.choice(_COUNTRIES),
            "page": f"/products/{rng.randrange(10_000)}",
            "duration_ms": rng.randrange(60_000),
        },
    }


def main(arguments: list[str]) -> int:
    """Print so many events; exit code 2 for what is no number."""
    if len(arguments) != 1 or not arguments[0].isdigit():
        print("usage: generate-test-load.sh NUMBER", file=sys.stderr)
        return 2
    rng, start = random.Random(), datetime.now(UTC)  # noqa: S311 - no secrets
    for number in range(int(arguments[0])):
        print(json.dumps(event(number, rng, start), separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
