"""The compiled contracts belong to their sources."""

import hashlib
import json

import pytest

from live.contracts import CONTRACTS

SOURCES = sorted(CONTRACTS.glob("*.sol"))


def test_contracts_exist() -> None:
    assert {source.stem for source in SOURCES} >= {"Board", "Token"}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_contract_was_compiled_after_its_last_change(source) -> None:
    artefact = json.loads(source.with_suffix(".json").read_text())
    assert artefact["source"]["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest(), "run compile.mjs"
    assert artefact["contract"] == source.stem
    assert len(artefact["bytecode"]) > 100
