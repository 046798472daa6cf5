"""Verification of `eth_getProof` against a state root, by packages that are not under test."""

from typing import Any

import rlp
from eth_hash.auto import keccak
from trie.exceptions import BadTrieProof
from trie.hexary import HexaryTrie


def verify_account(proof: dict[str, Any], state_root: str) -> str:
    """Return what is wrong with the proof of an account and its slots; empty if it is valid."""
    account = [
        _number(proof["nonce"]),
        _number(proof["balance"]),
        _data(proof["storageHash"]),
        _data(proof["codeHash"]),
    ]
    expected = rlp.encode(account)
    try:
        leaf = _value(state_root, _data(proof["address"]), proof["accountProof"])
        if leaf != expected and not (leaf == b"" and account[:2] == [b"", b""]):
            return f"the account {proof['address']} is not that of the state root"
        for slot in proof["storageProof"]:
            key = _number(slot["key"]).rjust(32, b"\0")
            value = _number(slot["value"])
            if _value(proof["storageHash"], key, slot["proof"]) != (rlp.encode(value) if value else b""):
                return f"slot {slot['key']} of {proof['address']} is not that of the storage root"
    except BadTrieProof as error:
        return f"the proof is incomplete: {error}"
    return ""


def _value(root: str, key: bytes, nodes: list[str]) -> bytes:
    if not nodes:
        return b""
    decoded = [rlp.decode(_data(node)) for node in nodes]
    leaf: bytes = HexaryTrie.get_from_proof(_data(root), keccak(key), decoded)  # type: ignore[no-untyped-call]
    return leaf


def _number(text: str) -> bytes:
    number = int(text, 16)
    return number.to_bytes((number.bit_length() + 7) // 8)


def _data(text: str) -> bytes:
    return bytes.fromhex(text[2:])
