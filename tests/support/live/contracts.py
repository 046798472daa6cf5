"""The compiled contracts of tests/support/contracts."""

import json
from typing import Any, NamedTuple

from repository import SUPPORT

CONTRACTS = SUPPORT / "contracts"


class Contract(NamedTuple):
    """ABI and creation code of a contract."""

    abi: list[dict[str, Any]]
    bytecode: str


def contract(name: str) -> Contract:
    """Return the contract with this name from the output of compile.mjs."""
    artefact = json.loads((CONTRACTS / f"{name}.json").read_text())
    return Contract(artefact["abi"], artefact["bytecode"])
