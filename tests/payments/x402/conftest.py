"""Fixtures of x402's tests."""

from collections.abc import Iterator

import pytest

from payments.x402.buyers import Buyers


@pytest.fixture
def buyers(url: str) -> Iterator[Buyers]:
    """Makes buyers on one database."""
    made = Buyers(url)
    yield made
    made.close()
