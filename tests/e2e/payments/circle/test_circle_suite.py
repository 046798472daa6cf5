"""Circle's hardhat tests of FiatToken, unmodified, on a node: without a shim in the tests or in front of the node.

They need a checkout of the suite with its packages (`make circle-suite`).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from live import LiveNode, live_node
from payments.circle.suite import TOKEN_TESTS, CircleSuite, checkout

pytestmark = [pytest.mark.sqlite_only, pytest.mark.timeout(3600)]
TOKEN_TEST_COUNT = 172


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for working copies; skip without the suite, before a node is started."""
    checkout()
    return tmp_path_factory.mktemp("circle")


@pytest.fixture
def node(folder: Path) -> Iterator[LiveNode]:
    with live_node("--automine", "--revert-reason", "message") as live:
        yield live


def test_results_equal_those_on_the_chain_of_hardhat(folder: Path, node: LiveNode) -> None:
    suite = CircleSuite(folder / "own")
    files = suite.files()
    assert TOKEN_TESTS in files
    expected, found = suite.run(files, None), suite.run(files, node.url)
    assert found.failed.keys() == expected.failed.keys(), found.failed
    assert found.passed == expected.passed
    assert found.passed.total() > TOKEN_TEST_COUNT


def test_token_of_this_project_passes_the_tests_of_the_token(folder: Path, node: LiveNode) -> None:
    suite = CircleSuite(folder / "token")
    suite.replace_token()
    found = suite.run([TOKEN_TESTS], node.url)
    assert found.failed == {}
    assert found.passed.total() == TOKEN_TEST_COUNT
