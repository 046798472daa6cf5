"""Starts chromium and opens pages that record every fault."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from browser.violations import PageFaults

Scheme = Literal["light", "dark"]

PHONE = {"width": 390, "height": 720}
"""Viewport of a phone."""
DESKTOP = {"width": 1280, "height": 900}
"""Viewport of a desktop."""

# Without its own sandbox, which needs user namespaces that containers of tests lack, and without /dev/shm.
_ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--force-color-profile=srgb"]
# Longest wait for a condition of a page, in milliseconds; a page is usually done after a fraction of a second.
_TIMEOUT = 30_000


@dataclass(frozen=True)
class BrowserPage:
    """A page, with the faults that it has shown since it was opened."""

    page: Page
    faults: PageFaults


class Chromium:
    """A running browser."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser

    @contextmanager
    def context(self, *, scheme: Scheme = "light", phone: bool = False) -> Iterator[BrowserContext]:
        """Yield a context of its own: cookies, storage and cache are shared by its pages only."""
        context = self._browser.new_context(
            viewport=PHONE if phone else DESKTOP,  # type: ignore[arg-type]
            color_scheme=scheme,
            reduced_motion="reduce",
            locale="en-US",
            timezone_id="UTC",
        )
        context.set_default_timeout(_TIMEOUT)
        try:
            yield context
        finally:
            context.close()

    @contextmanager
    def page(self, *, scheme: Scheme = "light", phone: bool = False) -> Iterator[BrowserPage]:
        """Yield a new page in a context of its own."""
        with self.context(scheme=scheme, phone=phone) as context:
            yield open_page(context)


def open_page(context: BrowserContext) -> BrowserPage:
    """Open a page of a context."""
    page = context.new_page()
    return BrowserPage(page, PageFaults(page))


def _program() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def chromium_or_skip() -> Iterator[Chromium]:
    """Yield a running chromium; skip the test without one."""
    if _program() is None:
        pytest.skip("chromium is not installed: apt install chromium")
    with running_chromium() as chromium:
        yield chromium


@contextmanager
def running_chromium() -> Iterator[Chromium]:
    """Yield a running chromium. Raises RuntimeError without one."""
    program = _program()
    if program is None:
        raise RuntimeError("chromium is not installed: apt install chromium")
    expect.set_options(timeout=_TIMEOUT)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        try:
            yield Chromium(browser)
        finally:
            browser.close()
