"""Pages in the system's Chromium, as a person sees them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Dialog, Page, Request, sync_playwright

_SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "chromium.sh"


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without window; installs Chromium where `scripts/chromium.sh` can."""
    found = subprocess.run([str(_SCRIPT)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.stdout.strip(), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@dataclass
class Visit:
    """A page that was opened, with everything that it did beside showing itself."""

    page: Page
    requests: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


@contextmanager
def visit(
    browser: Browser, path: Path, width: int = 1280, scheme: Literal["light", "dark"] = "light"
) -> Iterator[Visit]:
    """Open a file; `requests` are the addresses asked for beside it, `messages` what the console shows."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    seen = Visit(page)

    def request(made: Request) -> None:
        if made.url != path.as_uri():
            seen.requests.append(made.url)

    def dialog(opened: Dialog) -> None:
        seen.messages.append(f"dialog {opened.message}")
        opened.dismiss()

    page.on("request", request)
    page.on("console", lambda message: seen.messages.append(message.text))
    page.on("pageerror", lambda error: seen.messages.append(str(error)))
    page.on("dialog", dialog)
    page.goto(path.as_uri())
    yield seen
    page.close()
