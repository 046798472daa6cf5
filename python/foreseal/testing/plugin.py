"""Fixtures for pytest, registered once the package is installed.

Override `foreseal_settings` (scope "session") to configure the chain. Tests use `foreseal`.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from web3 import AsyncWeb3, Web3

    from foreseal.testing import Chain, ChainSettings, TestAccount


@pytest.fixture(scope="session")
def foreseal_settings() -> "ChainSettings":
    """Return the settings of the session's chain; override this fixture to change them."""
    from foreseal.testing import ChainSettings

    return ChainSettings()


@pytest.fixture(scope="session")
def foreseal_session(foreseal_settings: "ChainSettings") -> "Iterator[Chain]":
    """Provide the one chain of the test session. Changes by fixtures of wider scope persist for all later tests."""
    from foreseal.testing import Chain

    with Chain(foreseal_settings) as chain:
        yield chain


@pytest.fixture
def foreseal(foreseal_session: "Chain") -> "Iterator[Chain]":
    """Provide the session's chain; changes by the test are reverted when the test ends."""
    with foreseal_session.rollback() as chain:
        yield chain


@pytest.fixture
def foreseal_accounts(foreseal: "Chain") -> "tuple[TestAccount, ...]":
    """Return the funded accounts of the chain."""
    return foreseal.accounts


@pytest.fixture
def foreseal_w3(foreseal: "Chain") -> "Web3":
    """Return a `web3.Web3` on the chain; the funded accounts sign, the first is the default sender. Needs web3."""
    from foreseal.testing.web3 import connect

    return connect(foreseal)


@pytest.fixture
def foreseal_async_w3(foreseal: "Chain") -> "AsyncWeb3[Any]":
    """Return a `web3.AsyncWeb3` on the chain, like `foreseal_w3`."""
    from foreseal.testing.web3 import connect_async

    return connect_async(foreseal)
