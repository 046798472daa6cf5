"""Fixtures of the service: each test runs on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from payments.api.service_harness import ServiceHarness


@pytest.fixture
def service(url: str, tmp_path: Path) -> Iterator[ServiceHarness]:
    """Provide a merchant's service on a fake chain."""
    one = ServiceHarness(url, tmp_path)
    yield one
    one.close()
