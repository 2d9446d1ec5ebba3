"""Open reports in a real browser and record its requests and console messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.tools import find_module, find_tool

SWITCHES = (
    "--no-sandbox",  # Chromium requires it if the user is root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
)


@dataclass
class Tab:
    """A page of the browser.

    Attributes
    ----------
    page
        Playwright's page.
    complaints, requests
        Console messages and uncaught errors of the page, and every address that it requested.
    """

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, html: str, path: Path) -> Any:
        """Open a report from a file and return the page."""
        path.write_text(html, encoding="utf-8", errors="backslashreplace")
        self.complaints.clear()
        self.requests.clear()
        self.page.goto(path.as_uri())
        return self.page


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start Chromium without a window."""
    program = find_tool("chromium", package="chromium")
    find_module("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=program, args=list(SWITCHES))
        yield browser
        browser.close()


@contextmanager
def open_tab(browser: Any, **options: Any) -> Iterator[Tab]:
    """Open a tab that records the messages and requests of its page."""
    context = browser.new_context(**options)
    tab = Tab(context.new_page())
    tab.page.on("console", lambda message: tab.complaints.append(message.text))
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.page.on("request", lambda request: tab.requests.append(request.url))
    yield tab
    context.close()
