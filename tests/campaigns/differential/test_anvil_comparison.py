"""anvil agrees on random transactions, calls and estimates; `make differential` compares ten times as many."""

import pytest

from differential.anvil_comparison import compare_with_anvil
from differential.differences import LEFT_OUT
from differential.workload import World

TRANSACTIONS = 50


# The first blob makes anvil load the trusted setup with all its tables: seconds of a core that may be busy.
@pytest.mark.timeout(400)
def test_anvil_computes_the_same_blocks_from_random_transactions() -> None:
    comparison = compare_with_anvil(seed=1, transactions=TRANSACTIONS)
    assert comparison.faults == []
    assert comparison.transactions >= TRANSACTIONS
    assert comparison.types.keys() == {"0x0", "0x1", "0x2", "0x3", "0x4"}
    assert comparison.kinds.keys() <= World(1, LEFT_OUT).kinds.keys()
    few = TRANSACTIONS // 10
    assert min(comparison.statuses[status] for status in ("0x0", "0x1")) >= few
    assert min(comparison.compared[what] for what in ("accounts", "calls", "estimates", "logs", "slots")) >= few
