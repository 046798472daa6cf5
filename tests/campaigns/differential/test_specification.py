"""The specification agrees on random transactions; `make differential` compares ten times as many."""

from copy import deepcopy
from typing import Any

import pytest

from differential.features import ADDRESSES
from differential.workload import KINDS

REASON = "the execution specification (requirements/specification.lock) is not to be had for this Python"
pytest.importorskip("ethereum_spec_tools", reason=REASON)

from differential import specification  # noqa: E402 - needs what may be missing
from differential.eels import Specification  # noqa: E402
from differential.specification import compare_with_specification  # noqa: E402

TRANSACTIONS = 100

# The specification is optimized for readability: pairings alone take it seconds.
pytestmark = pytest.mark.timeout(400)


def test_blocks_of_random_transactions_match_the_specification() -> None:
    comparison = compare_with_specification(seed=1, transactions=TRANSACTIONS)
    assert comparison.faults == []
    assert comparison.transactions >= TRANSACTIONS
    assert comparison.types.keys() == {"0x0", "0x1", "0x2", "0x3", "0x4"}
    assert min(comparison.statuses[status] for status in ("0x0", "0x1")) >= TRANSACTIONS // 10
    assert comparison.kinds.keys() == set(KINDS)
    assert sum(comparison.kinds.values()) == comparison.transactions


def test_a_difference_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The difference is a slot that only one of them has."""
    address, slot = ADDRESSES["logger"], f"0x{77:064x}"

    def with_a_slot_more(genesis: dict[str, Any]) -> Specification:
        genesis = deepcopy(genesis)
        genesis["alloc"][address]["storage"] = {slot: f"0x{5:064x}"}
        return Specification(genesis)

    monkeypatch.setattr(specification, "Specification", with_a_slot_more)
    comparison = compare_with_specification(seed=1, transactions=1)
    assert comparison.blocks == 1
    assert any(fault.startswith("block 1: stateRoot is ") for fault in comparison.faults)
    assert f"{address}: slot {slot} is 0, specified is 5" in comparison.faults
