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
    """The contract with this name, as compile.mjs wrote it."""
    artefact = json.loads((CONTRACTS / f"{name}.json").read_text())
    return Contract(artefact["abi"], artefact["bytecode"])
