"""web3.js 1.x, unmodified: web3js.test.mjs has the tests."""

from clients.javascript import passed_tests
from live import DEV_ACCOUNTS, live_node
from live.accounts import key_of

TESTS = {
    "the estimate and the call of a revert name its reason",
    "sending a transaction that reverts names its reason",
    "the receipt of each transaction is in latest",
}


def test_web3js_with_reasons_in_messages() -> None:
    with live_node("--automine", "--revert-reason", "message") as node:
        assert passed_tests("web3js.test.mjs", node.url, key_of(DEV_ACCOUNTS[0])) == TESTS
