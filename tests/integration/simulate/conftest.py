"""A chain for one module, which simulations never change."""

from collections.abc import Iterator

import pytest

from foreseal.testing import Chain


@pytest.fixture(scope="module")
def chain() -> Iterator[Chain]:
    with Chain() as chain:
        yield chain
