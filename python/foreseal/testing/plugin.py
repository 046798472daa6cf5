"""Fixtures for pytest, there as soon as the package is installed.

Override `foreseal_settings` (scope "session") to shape the chain. `foreseal` is what tests use.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from web3 import AsyncWeb3, Web3

    from foreseal.testing import Chain, ChainSettings, TestAccount


@pytest.fixture(scope="session")
def foreseal_settings() -> "ChainSettings":
    """Settings of the session's chain: override this fixture to change them."""
    from foreseal.testing import ChainSettings

    return ChainSettings()


@pytest.fixture(scope="session")
def foreseal_session(foreseal_settings: "ChainSettings") -> "Iterator[Chain]":
    """The one chain of the test session. What fixtures of wider scope do on it stays for all tests that follow."""
    from foreseal.testing import Chain

    with Chain(foreseal_settings) as chain:
        yield chain


@pytest.fixture
def foreseal(foreseal_session: "Chain") -> "Iterator[Chain]":
    """The session's chain; what the test does on it is taken back when the test ends."""
    with foreseal_session.rollback() as chain:
        yield chain


@pytest.fixture
def foreseal_accounts(foreseal: "Chain") -> "tuple[TestAccount, ...]":
    """The funded accounts of the chain."""
    return foreseal.accounts


@pytest.fixture
def foreseal_w3(foreseal: "Chain") -> "Web3":
    """A `web3.Web3` on the chain, for which the funded accounts sign; the first is the default sender. Needs web3."""
    from foreseal.testing.web3 import connect

    return connect(foreseal)


@pytest.fixture
def foreseal_async_w3(foreseal: "Chain") -> "AsyncWeb3[Any]":
    """A `web3.AsyncWeb3` on the chain, as `foreseal_w3`."""
    from foreseal.testing.web3 import connect_async

    return connect_async(foreseal)
