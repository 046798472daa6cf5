"""The store of an OP chain is consistent by the rules of that chain."""

from pathlib import Path

import orjson

from foreseal._core import db_verify
from live import DEV_ACCOUNTS, wait_for
from live.sending import signed
from optimism import Driver, optimism_node
from optimism.genesis import MESSAGE_PASSER
from optimism.workload import workload_genesis

SECONDS = 20.0


def test_verification_accepts_the_withdrawals_root_of_messages(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", workload_genesis()) as node:
        driver = Driver(node.engine)
        driver.start()
        driver.begin()
        sent = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[0], 0, to=MESSAGE_PASSER, gas=100_000))
        wait_for(lambda: node.rpc("eth_getTransactionReceipt", sent), SECONDS, "receipt")
        driver.seal()
    found = orjson.loads(db_verify(str(tmp_path / "node" / "data"), lambda *_: None))
    assert found["faults"] == []
