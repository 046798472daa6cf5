"""The compiled contracts of tests/contracts."""

import json
from pathlib import Path
from typing import Any, NamedTuple

CONTRACTS = Path(__file__).parents[1] / "contracts"


class Contract(NamedTuple):
    """ABI and creation code of a contract."""

    abi: list[dict[str, Any]]
    bytecode: str


def contract(name: str) -> Contract:
    """Return the contract with this name from the output of compile.mjs."""
    artefact = json.loads((CONTRACTS / f"{name}.json").read_text())
    return Contract(artefact["abi"], artefact["bytecode"])
