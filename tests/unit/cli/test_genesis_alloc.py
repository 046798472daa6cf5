"""Accounts of a genesis: the forms of geth, op-deployer and forge, and malformed ones."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal.cli.genesis_alloc import GenesisAlloc, GenesisAllocError, read_genesis_alloc

ADDRESS = "0x4200000000000000000000000000000000000016"
SLOT, WORD = "0x" + "00" * 31 + "07", "0x" + "00" * 31 + "2a"


def read(tmp_path: Path, content: Any) -> GenesisAlloc:
    path = tmp_path / "alloc.json"
    path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return read_genesis_alloc(path)


@pytest.mark.parametrize(
    "account",
    [
        {"balance": "0x10", "nonce": "0x1", "code": "0x60", "storage": {"0x07": "0x2a"}},
        {"balance": "16", "nonce": 1, "code": "0x60", "storage": {SLOT: WORD}},
        {"balance": 16, "nonce": "1", "code": "0x60", "storage": {"0x7": "0x2a"}},
    ],
    ids=["hex", "geth", "mixed"],
)
def test_forms_of_an_account_are_equal(tmp_path: Path, account: dict[str, Any]) -> None:
    expected = {ADDRESS: {"balance": "0x10", "nonce": "0x1", "code": "0x60", "storage": {SLOT: WORD}}}
    for content in ({ADDRESS: account}, {"alloc": {ADDRESS[2:].upper(): account}}):
        assert read(tmp_path, content).accounts == expected


def test_empty_fields_are_left_out(tmp_path: Path) -> None:
    dumped = {"balance": "0x0", "nonce": "0x0", "code": "0x", "storage": {}}
    assert read(tmp_path, {ADDRESS: dumped}).accounts == {ADDRESS: {"balance": "0x0"}}
    assert read(tmp_path, {ADDRESS: {}}).accounts == {ADDRESS: {"balance": "0x0"}}


def test_header_comes_from_a_genesis_alone(tmp_path: Path) -> None:
    genesis = {"config": {}, "gasLimit": "0x10", "timestamp": "0x5", "alloc": {ADDRESS: {"balance": "0x0"}}}
    assert read(tmp_path, genesis).header == {"gasLimit": "0x10", "timestamp": "0x5"}
    assert read(tmp_path, {ADDRESS: {}}).header == {}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "not JSON"),
        ([], "must be a genesis with alloc"),
        ({}, "must contain the accounts"),
        ({"alloc": []}, "must contain the accounts"),
        ({"config": {}}, "'config' is not an address"),
        ({"0x12": {}}, "'0x12' is not an address"),
        ({ADDRESS: {}, ADDRESS[2:]: {}}, f"{ADDRESS} occurs twice"),
        ({ADDRESS: "0x"}, f"{ADDRESS} must be an object"),
        ({ADDRESS: {"balance": "-1"}}, f"{ADDRESS}: balance is malformed"),
        ({ADDRESS: {"balance": hex(1 << 256)}}, f"{ADDRESS}: balance is malformed or too large"),
        ({ADDRESS: {"balance": "9" * 5000}}, f"{ADDRESS}: balance is malformed or too large"),
        ({ADDRESS: {"balance": True}}, f"{ADDRESS}: balance is malformed"),
        ({ADDRESS: {"nonce": hex(1 << 64)}}, f"{ADDRESS}: nonce is malformed or too large"),
        ({ADDRESS: {"code": "0x6"}}, f"{ADDRESS}: code is malformed"),
        ({ADDRESS: {"code": 5}}, f"{ADDRESS}: code is malformed"),
        ({ADDRESS: {"storage": {"0x1": 5}}}, f"{ADDRESS}: storage is malformed"),
        ({ADDRESS: {"storage": {"0x1": "0x1", "0x01": "0x2"}}}, f"{ADDRESS}: storage is malformed"),
        ({ADDRESS: {"storage": {"0x1": "0x" + "11" * 33}}}, f"{ADDRESS}: storage is malformed"),
        ({ADDRESS: {"codeHash": "0x"}}, f"{ADDRESS}: codeHash must be one of balance, nonce, code, storage"),
    ],
)
def test_fault_names_the_account(tmp_path: Path, content: Any, words: str) -> None:
    with pytest.raises(GenesisAllocError) as error:
        read(tmp_path, content)
    assert words in str(error.value)
