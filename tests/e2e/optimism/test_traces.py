"""Traces of blocks with deposits."""

from pathlib import Path
from typing import Any

import pytest
from eth_utils.hexadecimal import encode_hex

from optimism import Driver, L1Attributes, deposit, op_genesis, optimism_node
from optimism.model.transactions import DepositTransaction
from optimism.predeploys import L1_BLOCK

SENDER, RECIPIENT = b"\x11" * 20, b"\x22" * 20
MINT = 5


def traced_calls(folder: Path, **fields: int) -> list[dict[str, Any]]:
    """Return the call frames of a block with the L1 attributes and a deposit with these fields."""

    def deposits(attributes: L1Attributes) -> list[DepositTransaction]:
        return [deposit(attributes.block, 0, SENDER, RECIPIENT, mint=MINT, **fields)]

    with optimism_node(folder / "node", op_genesis()) as node:
        driver = Driver(node.engine, deposits=deposits)
        driver.start()
        driver.begin()
        driver.seal()
        traces = node.rpc("debug_traceBlockByNumber", "latest", {"tracer": "callTracer"})
        assert [each["txHash"] for each in traces] == node.engine.block("latest")["transactions"]
        return [each["result"] for each in traces]


@pytest.mark.parametrize("value", [MINT - 2, MINT + 1], ids=["success", "lack of funds"])
def test_trace_of_a_deposit_shows_its_transfer(value: int, tmp_path: Path) -> None:
    attributes, transfer = traced_calls(tmp_path, value=value)
    assert attributes["to"] == encode_hex(L1_BLOCK)
    assert "error" not in attributes
    assert (transfer["from"], transfer["to"]) == (encode_hex(SENDER), encode_hex(RECIPIENT))
    assert transfer["value"] == hex(value)
    assert ("error" in transfer) == (value > MINT)


def test_trace_of_a_deposit_that_cannot_begin_is_one_failed_call(tmp_path: Path) -> None:
    _, failed = traced_calls(tmp_path, gas=20_000)
    assert (failed["from"], failed["to"]) == (encode_hex(SENDER), encode_hex(RECIPIENT))
    assert failed["error"] == "failed deposit"
    assert "calls" not in failed
