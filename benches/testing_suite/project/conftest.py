"""The chain that `--chain` names, and the contracts of the tests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chains import AnvilChain, Chain, Deploy, EthTesterChain, ForesealChain, wait
from web3 import Web3
from web3.contract import Contract

REPOSITORY = Path(__file__).parents[3]
ARTIFACTS = {
    "Token": REPOSITORY / "tests" / "support" / "contracts" / "Token.json",
    "Board": REPOSITORY / "tests" / "support" / "contracts" / "Board.json",
    "Till": REPOSITORY / "tests" / "support" / "example_project" / "contracts" / "Till.json",
}
TESTS = 200


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chain", choices=("foreseal", "eth-tester", "anvil"), required=True)
    parser.addoption("--anvil", help="the anvil command")
    parser.addoption("--seconds", help="file for the seconds that all set-ups, calls and tear-downs took")


def pytest_collection_finish(session: pytest.Session) -> None:
    if len(session.items) != TESTS and not session.config.option.keyword:
        raise pytest.UsageError(f"these are {len(session.items)} tests and should be {TESTS}")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("seconds"):
        config.pluginmanager.register(Seconds(Path(config.getoption("seconds"))))


class Seconds:
    """Sum of the durations of the tests."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.total = 0.0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.total += report.duration

    def pytest_sessionfinish(self) -> None:
        self.file.write_text(f"{self.total:.6f}\n")


@pytest.fixture(scope="session")
def peer(pytestconfig: pytest.Config) -> Iterator[Chain | None]:
    """Provide the session's chain of eth-tester or anvil; Foreseal has its own fixture."""
    match pytestconfig.getoption("chain"):
        case "eth-tester":
            yield EthTesterChain()
        case "anvil":
            chain = AnvilChain(pytestconfig.getoption("anvil"))
            yield chain
            chain.close()
        case _:
            yield None


@pytest.fixture
def chain(peer: Chain | None, request: pytest.FixtureRequest) -> Iterator[Chain]:
    """Provide the chain; changes by the test are reverted."""
    chain = peer or ForesealChain(request)
    with chain.rollback():
        yield chain


@pytest.fixture
def w3(chain: Chain) -> Web3:
    return chain.w3


@pytest.fixture
def accounts(chain: Chain) -> list[Any]:
    return chain.accounts


@pytest.fixture(scope="session")
def artifacts() -> dict[str, dict[str, Any]]:
    return {name: json.loads(path.read_text()) for name, path in ARTIFACTS.items()}


@pytest.fixture
def deploy(w3: Web3, accounts: list[Any], artifacts: dict[str, dict[str, Any]]) -> Deploy:
    """Return a function that deploys a contract from the first account."""

    def deploy(name: str, *arguments: Any, value: int = 0) -> Contract:
        artifact = artifacts[name]
        factory = w3.eth.contract(abi=artifact["abi"], bytecode=artifact["bytecode"])
        sent = factory.constructor(*arguments).transact({"from": accounts[0], "value": value})
        return w3.eth.contract(wait(w3, sent)["contractAddress"], abi=artifact["abi"])

    return deploy
