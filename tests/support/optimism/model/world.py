"""State of a chain: accounts with storage, and their roots."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import rlp
from eth_hash.auto import keccak
from trie.hexary import HexaryTrie

from optimism.model.transactions import minimal


@dataclass(slots=True)
class WorldAccount:
    """An account. `storage` has no zero values."""

    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    storage: dict[int, int] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Return True if the state contains no such account (EIP-161)."""
        return not self.nonce and not self.balance and not self.code


class World:
    """Accounts by address; an unknown address has an empty account."""

    def __init__(self, accounts: dict[bytes, WorldAccount]) -> None:
        self.accounts = accounts

    @classmethod
    def from_genesis(cls, alloc: Mapping[str, Mapping[str, Any]]) -> "World":
        """Return the state of a genesis in geth's format."""
        accounts = {}
        for address, given in alloc.items():
            storage = {int(slot, 16): int(value, 16) for slot, value in given.get("storage", {}).items()}
            accounts[bytes.fromhex(address.removeprefix("0x"))] = WorldAccount(
                nonce=int(given.get("nonce", "0x0"), 16),
                balance=int(given.get("balance", "0x0"), 16),
                code=bytes.fromhex(given.get("code", "0x")[2:]),
                storage={slot: value for slot, value in storage.items() if value},
            )
        return cls(accounts)

    def copy(self) -> "World":
        """Return a copy that shares nothing with this one."""
        copies = {address: copy(account) for address, account in self.accounts.items()}
        for account in copies.values():
            account.storage = dict(account.storage)
        return World(copies)

    def __getitem__(self, address: bytes) -> WorldAccount:
        return self.accounts.setdefault(address, WorldAccount())

    def store(self, address: bytes, slot: int, value: int) -> None:
        """Write a slot of a contract."""
        storage = self[address].storage
        storage[slot] = value
        if not value:
            del storage[slot]

    def storage_root(self, address: bytes) -> bytes:
        """Return the root of an account's storage."""
        return _storage_root(tuple(sorted(self[address].storage.items())))

    def root(self) -> bytes:
        """Return the state root."""
        trie = HexaryTrie({})
        for address, account in self.accounts.items():
            if not account.is_empty():
                roots = [_storage_root(tuple(sorted(account.storage.items()))), keccak(account.code)]
                trie[keccak(address)] = rlp.encode([minimal(account.nonce), minimal(account.balance), *roots])
        return bytes(trie.root_hash)


@lru_cache(4096)
def _storage_root(storage: tuple[tuple[int, int], ...]) -> bytes:
    trie = HexaryTrie({})
    for slot, value in storage:
        trie[keccak(slot.to_bytes(32, "big"))] = rlp.encode(minimal(value))
    return bytes(trie.root_hash)
