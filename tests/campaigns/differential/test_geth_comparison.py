"""geth agrees on random calls and traces; `make differential` compares many more."""

import pytest

from differential.geth_comparison import compare_calls, compare_traces

CASES = 150


@pytest.mark.timeout(600)
def test_geth_agrees_on_random_calls_estimates_access_lists_and_simulations() -> None:
    comparison = compare_calls(seed=1, cases=CASES)
    assert comparison.faults == []
    methods = ("eth_call", "eth_estimateGas", "eth_createAccessList", "eth_simulateV1")
    assert min(comparison.compared[method] for method in methods) >= CASES // 10
    assert comparison.compared["failures"] < CASES * 3 // 4


@pytest.mark.timeout(600)
def test_geth_agrees_on_random_traces_of_every_tracer() -> None:
    comparison = compare_traces(seed=1, cases=CASES)
    assert comparison.faults == []
    assert comparison.compared["debug_traceCall"] == CASES
    assert comparison.compared["failures"] < CASES // 2
