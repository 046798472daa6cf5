"""Fixtures of the service: each test runs on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from payments.api.till import Till


@pytest.fixture
def till(url: str, tmp_path: Path) -> Iterator[Till]:
    """Provide a merchant's service on a fake chain."""
    one = Till(url, tmp_path)
    yield one
    one.close()
