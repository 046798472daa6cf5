"""Stock libraries at the endpoints without a block of their own choice: the short form of `make clients`."""

from libraries.campaign import run
from libraries.library import LIBRARIES
from libraries.plan import SCRIPT_FLOWS, Plan
from npm import find_node

ENDPOINTS = ("/sealed", "/preconfirmed")
ROUNDS = 3


def test_scripts_of_ethers_and_viem_pass_at_sealed_and_preconfirmed() -> None:
    find_node()
    libraries = [library for library in LIBRARIES if library.name in ("ethers", "viem")]
    plan = Plan(ROUNDS, endpoints=ENDPOINTS, modes=("interval",), flows=SCRIPT_FLOWS)
    report = run(plan, libraries)
    assert [str(fault) for fault in report.faults] == []
    assert len(report.outcomes) == 2 * len(ENDPOINTS) * len(SCRIPT_FLOWS)
    assert {(outcome.passed, outcome.rounds) for outcome in report.outcomes} == {(ROUNDS, ROUNDS)}
