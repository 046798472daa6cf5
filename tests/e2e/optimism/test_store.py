"""The store of an OP chain is consistent by the rules of that chain."""

from pathlib import Path

import orjson

from foreseal._core import db_verify
from live import DEV_ACCOUNTS
from live.sending import signed
from optimism import Driver, op_genesis, optimism_node
from optimism.pending import wait_for_receipt
from optimism.predeploys import MESSAGE_PASSER


def test_verification_accepts_the_withdrawals_root_of_messages(tmp_path: Path) -> None:
    with optimism_node(tmp_path / "node", op_genesis()) as node:
        driver = Driver(node.engine)
        driver.start()
        driver.begin()
        sent = node.rpc("eth_sendRawTransaction", signed(DEV_ACCOUNTS[0], 0, to=MESSAGE_PASSER, gas=100_000))
        wait_for_receipt(node.rpc, sent)
        empty = node.rpc("eth_getBlockByNumber", "0x0", False)["withdrawalsRoot"]
        assert driver.seal()["withdrawalsRoot"] != empty
    report = orjson.loads(db_verify(str(tmp_path / "node" / "data"), lambda *_: None))
    assert report["faults"] == []
