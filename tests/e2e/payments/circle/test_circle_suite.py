"""Circle's hardhat tests of FiatToken, unmodified, on a node: without a shim in the tests or in front of the node.

They need a checkout of the suite with its packages (`make circle-suite`).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import LiveNode, live_node
from payments.circle.suite import TESTS_OF_ALL_VERSIONS, TOKEN_TESTS, CircleSuite, checkout

pytestmark = [pytest.mark.sqlite_only, pytest.mark.timeout(3600)]
TOKEN_TITLES = "^FiatTokenV2_2"
TOKEN_TEST_COUNT = 653
"""172 tests of FiatTokenV2_2, and 481 that run for each version of the token."""
MESSAGE = "The test expects the words `VM Exception`, which only hardhat and ganache put before a revert reason."
GAS = "The test sends 30,000,000 gas; since Osaka (EIP-7825) a transaction may have 16,777,216."
DESTRUCTION = "The test expects no code after SELFDESTRUCT; since Cancun (EIP-6780) the code remains."
_LARGE = "NativeFiatTokenV2_2 NativeFiatToken V2_2 Specific Behavior will handle large balances appropriately"
_UPGRADER = "V2_2Upgrader"
DIFFERENCES = {
    f"{_LARGE} should fail when minting amounts that would overflow in _to18Decimals": MESSAGE,
    f"{_LARGE} should fail when transferring amounts that would overflow in _to18Decimals": MESSAGE,
    f"{_LARGE} should fail when using transferFrom with amounts that would overflow in _to18Decimals": MESSAGE,
    f"{_LARGE} EIP3009 with large amounts should fail when using transferWithAuthorization with large amounts": MESSAGE,
    f"{_LARGE} EIP3009 with large amounts should fail when using receiveWithAuthorization with large amounts": MESSAGE,
    f"{_UPGRADER} upgrade gas tests should not exceed 3000000 gas when blacklisting 100 accounts": GAS,
    f"{_UPGRADER} upgrade gas tests should not exceed 15000000 gas when blacklisting 500 accounts": GAS,
    f"{_UPGRADER} abortUpgrade transfers proxy admin role to newProxyAdmin, and self-destructs": DESTRUCTION,
}
"""Tests that pass on hardhat's chain, whose rules are those of Shanghai, and fail on a node, with the reason."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for working copies; skip without the suite, before a node is started."""
    checkout()
    return tmp_path_factory.mktemp("circle")


@pytest.fixture
def node(folder: Path) -> Iterator[LiveNode]:
    with live_node("--automine", "--revert-reason", "message") as live:
        yield live


def test_only_explained_results_differ_from_those_on_the_chain_of_hardhat(folder: Path, node: LiveNode) -> None:
    suite = CircleSuite(folder / "own")
    files = suite.files()
    assert TOKEN_TESTS in files
    expected, actual = suite.run(files, None), suite.run(files, node.url)
    assert actual.failed.keys() == expected.failed.keys() | DIFFERENCES.keys(), actual.failed
    assert actual.passed + Counter(DIFFERENCES.keys()) == expected.passed
    assert actual.passed.total() > TOKEN_TEST_COUNT


def test_token_of_this_project_passes_the_tests_of_the_token(folder: Path, node: LiveNode) -> None:
    suite = CircleSuite(folder / "token")
    suite.replace_token()
    files = [file for file in suite.files() if file == TOKEN_TESTS or file.startswith(TESTS_OF_ALL_VERSIONS)]
    run = suite.run(files, node.url, TOKEN_TITLES)
    assert run.failed == {}
    assert run.passed.total() == TOKEN_TEST_COUNT
