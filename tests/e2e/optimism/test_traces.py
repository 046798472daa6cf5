"""Traces of blocks with deposits."""

from pathlib import Path

import pytest

from live import Rpc
from optimism import Deposit, Driver, L1Attributes, deposit, optimism_node
from optimism.genesis import L1_ATTRIBUTES_CONTRACT
from optimism.workload import workload_genesis

SENDER, RECIPIENT = b"\x11" * 20, b"\x22" * 20
MINT = 5
CALLS = {"tracer": "callTracer"}


def traced_block(folder: Path, **fields: int) -> list[dict[str, object]]:
    """Return the call traces of a block with the L1 attributes and a deposit with these fields."""

    def deposits(attributes: L1Attributes) -> list[Deposit]:
        return [deposit(attributes.block, 0, SENDER, RECIPIENT, mint=MINT, **fields)]

    with optimism_node(folder / "node", workload_genesis()) as node:
        driver = Driver(node.engine, deposits=deposits)
        driver.start()
        driver.begin()
        driver.seal()
        return block_traces(node.rpc)


def block_traces(rpc: Rpc) -> list[dict[str, object]]:
    """Return the call traces of the newest block."""
    found: list[dict[str, object]] = rpc("debug_traceBlockByNumber", "latest", CALLS)
    assert [set(each) for each in found] == [{"txHash", "result"}] * len(found)
    return found


@pytest.mark.parametrize("value", [3, 6], ids=["success", "lack of funds"])
def test_trace_of_a_deposit_shows_its_transfer(value: int, tmp_path: Path) -> None:
    attributes, transfer = (each["result"] for each in traced_block(tmp_path, value=value))
    assert isinstance(attributes, dict)
    assert attributes["to"] == L1_ATTRIBUTES_CONTRACT
    assert isinstance(transfer, dict)
    assert (transfer["to"], transfer["value"]) == ("0x" + RECIPIENT.hex(), hex(value))
    assert ("error" in transfer) == (value > MINT)


def test_trace_of_a_deposit_that_cannot_begin_is_json(tmp_path: Path) -> None:
    assert len(traced_block(tmp_path, gas=20_000)) == 2
