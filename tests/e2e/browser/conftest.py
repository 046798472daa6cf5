"""Fixtures of the tests with a browser."""

from collections.abc import Iterator

import pytest

from browser import BrowserPage, Chromium, chromium_or_skip


# Its driver occupies the event loop of this thread, so it must end before tests that run a loop of their own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """Run one browser for the tests of a file."""
    with chromium_or_skip() as browser:
        yield browser


@pytest.fixture
def opened(chromium: Chromium) -> Iterator[BrowserPage]:
    """Open a page on a desktop; it must show no fault by the end."""
    with chromium.page() as opened:
        yield opened
        assert opened.faults.unexpected == []
