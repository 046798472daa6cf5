"""State of a chain: accounts with storage, and their roots."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import rlp
from eth_hash.auto import keccak
from eth_utils.hexadecimal import decode_hex
from trie.hexary import HexaryTrie

from optimism.model.transactions import minimal


@dataclass(slots=True)
class AccountState:
    """An account, with its balance in wei. `storage` contains no zero values."""

    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    storage: dict[int, int] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Return True if the state contains no such account (EIP-161)."""
        return not self.nonce and not self.balance and not self.code


class ChainState:
    """Accounts by address; an address without an account has an empty one."""

    def __init__(self, accounts: dict[bytes, AccountState]) -> None:
        self.accounts = accounts

    @classmethod
    def from_genesis(cls, alloc: Mapping[str, Mapping[str, Any]]) -> "ChainState":
        """Return the state of a genesis in geth's format."""
        accounts = {}
        for address, fields in alloc.items():
            storage = {int(slot, 16): int(value, 16) for slot, value in fields.get("storage", {}).items()}
            accounts[decode_hex(address)] = AccountState(
                nonce=int(fields.get("nonce", "0x0"), 16),
                balance=int(fields.get("balance", "0x0"), 16),
                code=decode_hex(fields.get("code", "0x")),
                storage={slot: value for slot, value in storage.items() if value},
            )
        return cls(accounts)

    def copy(self) -> "ChainState":
        """Return a copy that shares nothing with this one."""
        copies = {address: copy(account) for address, account in self.accounts.items()}
        for account in copies.values():
            account.storage = dict(account.storage)
        return ChainState(copies)

    def __getitem__(self, address: bytes) -> AccountState:
        return self.accounts.setdefault(address, AccountState())

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
