"""Two merchants on chains of their own, on SQLite and on PostgreSQL, in one process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from payments.api.service_harness import ServiceHarness
from payments.hosting import HostedMerchants

_CHECKOUT = """
[checkout]
public_url = "https://pay.shop.example/{name}"
merchant_name = "Shop"
"""


@pytest.fixture
def books(url: str, tmp_path: Path) -> Iterator[ServiceHarness]:
    yield from _service(url, tmp_path / "books")


@pytest.fixture
def games(other_url: str, tmp_path: Path) -> Iterator[ServiceHarness]:
    yield from _service(other_url, tmp_path / "games")


@pytest.fixture
def hosted(books: ServiceHarness, games: ServiceHarness) -> HostedMerchants:
    """Provide both below /books and /games."""
    return HostedMerchants({"books": books, "games": games})


def _service(url: str, folder: Path) -> Iterator[ServiceHarness]:
    folder.mkdir()
    one = ServiceHarness(url, folder, _CHECKOUT.format(name=folder.name))
    yield one
    one.close()
