"""Stock libraries at the endpoints without a block of their own choice: the short form of `make clients`."""

import shutil
from pathlib import Path

from clients.javascript import FOLDER
from libraries.campaign import run
from libraries.library import JAVASCRIPT, Library
from libraries.plan import SCRIPT_FLOWS, Plan
from npm import find_node, install

ENDPOINTS = ("/sealed", "/preconfirmed")
ROUNDS = 3


def test_scripts_of_ethers_and_viem_pass_at_sealed_and_preconfirmed(tmp_path: Path) -> None:
    node = find_node()
    install(FOLDER)
    for file in JAVASCRIPT.glob("*.mjs"):
        shutil.copy(file, tmp_path)
    # The packages of the tests, without those that only the campaign needs.
    (tmp_path / "node_modules").symlink_to(FOLDER / "node_modules")
    libraries = [
        Library(name, "of the tests", lambda file=file: [node, str(tmp_path / file)])  # type: ignore[misc]
        for name, file in (("ethers", "ethers6.mjs"), ("viem", "viem.mjs"))
    ]
    plan = Plan(ROUNDS, endpoints=ENDPOINTS, modes=("interval",), flows=SCRIPT_FLOWS)
    report = run(plan, libraries)
    assert [str(fault) for fault in report.faults] == []
    assert len(report.outcomes) == len(libraries) * len(ENDPOINTS) * len(SCRIPT_FLOWS)
    assert {(outcome.passed, outcome.rounds) for outcome in report.outcomes} == {(ROUNDS, ROUNDS)}
