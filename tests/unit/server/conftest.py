"""Fixtures of the tests of the server."""

import pytest

from fake_core import CountedCaller


@pytest.fixture
def counted_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count the calls of each caller at the double of the node."""
    monkeypatch.setattr("foreseal._core.Caller", CountedCaller)
