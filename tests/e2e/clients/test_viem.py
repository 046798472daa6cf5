"""viem, unmodified: viem.test.mjs has the tests, viem.streams.test.mjs those of WebSockets."""

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
    "blocks, pending transactions and logs arrive by the watchers",
    "pre-confirmed logs and transactions arrive before their block is sealed",
    "after the end of a subscription nothing comes",
    "nothing that follows the answer of a subscription is lost while steps are made",
}

AUTOMINE = {
    "the balance at latest shows a transfer after its receipt",
    "the nonce at latest follows each receipt",
    "a deployed contract has code at latest",
    "automine is switched off and on by the test client",
}


def test_viem(node: LiveNode) -> None:
    assert passed_tests("viem.test.mjs", node.url, key_of(DEV_ACCOUNTS[0])) == TESTS


def test_viem_over_a_websocket() -> None:
    with live_node("--step", "10ms") as quick:
        assert passed_tests("viem.streams.test.mjs", quick.url, key_of(DEV_ACCOUNTS[0])) == STREAMS


def test_viem_with_automine() -> None:
    with live_node("--automine") as node:
        assert passed_tests("viem.automine.test.mjs", node.url, key_of(DEV_ACCOUNTS[0])) == AUTOMINE
