"""Test contracts in addition to those of the package: wallets, and tokens that misbehave."""

from functools import cache
from pathlib import Path

from foreseal.payments.contracts import Artifact
from foreseal.payments.contracts.artifact import parse

FOLDER = Path(__file__).parent


@cache
def double(contract: str) -> Artifact:
    """Return a compiled contract of this folder, by its name."""
    return parse((FOLDER / "compiled" / f"{contract}.json").read_bytes())
