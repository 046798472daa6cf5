"""ethers 6, unmodified: ethers.test.mjs has the tests, ethers.streams.test.mjs those of WebSockets."""

from clients.javascript import passed_tests
from live import DEV_ACCOUNTS, LiveNode, live_node
from live.accounts import key_of

TESTS = {
    "the chain is recognized",
    "the receipt of a transfer is read while it is pending and is the same once sealed",
    "the next nonce comes from pending",
    "a contract is deployed, called, estimated and its logs are read, all on pending",
    "every kind of transaction is understood",
    "waiting for a receipt works",
    "reverts are decoded: reason, custom error, panic, nothing",
    "what the specification refuses is recognized",
}

STREAMS = {
    "blocks, pending transactions and logs arrive by the events of the provider",
    "pre-confirmed logs and transactions arrive before their block is sealed",
    "after the end of a subscription nothing comes",
}

AUTOMINE = {
    "the balance at latest shows a transfer after wait",
    "the nonce at latest follows each receipt",
    "a deployed contract has code at latest",
    "transactions sent together are all in latest after their receipts",
}


def test_ethers(node: LiveNode) -> None:
    assert passed_tests("ethers.test.mjs", node.url, key_of(DEV_ACCOUNTS[0])) == TESTS


def test_ethers_over_a_websocket(node: LiveNode) -> None:
    assert passed_tests("ethers.streams.test.mjs", node.url, key_of(DEV_ACCOUNTS[0])) == STREAMS


def test_ethers_with_automine() -> None:
    with live_node("--automine") as node:
        assert passed_tests("ethers.automine.test.mjs", node.url, key_of(DEV_ACCOUNTS[0])) == AUTOMINE
