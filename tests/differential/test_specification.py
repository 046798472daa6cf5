"""The specification makes the same of random transactions; `make differential` compares ten times as many."""

from differential.specification import compare_with_specification
from differential.workload import KINDS

TRANSACTIONS = 100


def test_blocks_of_random_transactions_are_as_specified() -> None:
    found = compare_with_specification(seed=1, transactions=TRANSACTIONS)
    assert found.faults == []
    assert found.transactions >= TRANSACTIONS
    assert found.types.keys() == {"0x0", "0x1", "0x2", "0x3", "0x4"}
    assert min(found.statuses[status] for status in ("0x0", "0x1")) >= TRANSACTIONS // 10
    assert found.kinds.keys() == set(KINDS)
    assert sum(found.kinds.values()) == found.transactions
