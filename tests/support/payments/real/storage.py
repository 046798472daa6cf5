"""The state of the real contracts, read and written in their storage, with the names of the chain in memory."""

from collections.abc import Iterable, Mapping
from typing import Any

from eth_utils.crypto import keccak

from foreseal.payments.contracts.token import artifact
from foreseal.testing import Chain
from payments.fake.contracts import TOKEN

_BLACKLISTED = 1 << 255
# The lowest policy number, a block-list that the owner could have created.
_POLICY = 2


def _slot(label: str, *keys: bytes) -> int:
    slot = artifact().variable(label).slot
    for key in keys:
        slot = int.from_bytes(keccak(key.rjust(32, b"\0") + slot.to_bytes(32, "big")))
    return slot


def _address_bytes(address: str) -> bytes:
    return bytes.fromhex(address[2:])


class Storage:
    """The token's storage at a block."""

    def __init__(self, chain: Chain, block: str) -> None:
        self.chain, self.block = chain, block

    def read(self, slot: int) -> int:
        return int(self.chain.rpc("eth_getStorageAt", TOKEN, hex(slot), self.block), 16)

    def write(self, slot: int, value: int) -> None:
        self.chain.rpc("anvil_setStorageAt", TOKEN, hex(slot), f"0x{value:064x}")


class Balances:
    """Balances by holder."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def get(self, holder: str, _default: int = 0) -> int:
        return self.storage.read(_slot("_balanceAndBlacklist", _address_bytes(holder))) % _BLACKLISTED

    __getitem__ = get

    def update(self, given: Mapping[str, int]) -> None:
        for holder, amount in given.items():
            slot = _slot("_balanceAndBlacklist", _address_bytes(holder))
            self.storage.write(slot, self.storage.read(slot) & _BLACKLISTED | amount)


class Allowances:
    """Allowances by owner and spender."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def update(self, given: Mapping[tuple[str, str], int]) -> None:
        for (owner, spender), amount in given.items():
            self.storage.write(_slot("_allowances", _address_bytes(owner), _address_bytes(spender)), amount)


class Used:
    """Payers and nonces of authorizations that are used or canceled."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def add(self, key: tuple[str, bytes]) -> None:
        self.storage.write(_slot("_authorizationStates", _address_bytes(key[0]), key[1]), 1)

    def __contains__(self, key: tuple[str, bytes]) -> bool:
        return bool(self.storage.read(_slot("_authorizationStates", _address_bytes(key[0]), key[1])))


class Listed:
    """Accounts on a list; `known` are all accounts that may be on it."""

    def __init__(self, storage: Storage, known: Iterable[str]) -> None:
        self.storage, self.known = storage, tuple(known)

    def add(self, holder: str) -> None:
        self.put(holder, listed=True)

    def clear(self) -> None:
        for holder in self.known:
            self.put(holder, listed=False)

    def put(self, holder: str, *, listed: bool) -> None:
        slot = _slot("_balanceAndBlacklist", _address_bytes(holder))
        self.storage.write(slot, self.storage.read(slot) % _BLACKLISTED + (_BLACKLISTED if listed else 0))


class Forbidden(Listed):
    """Accounts on the active block-list."""

    def put(self, holder: str, *, listed: bool) -> None:
        self.storage.write(_slot("_policyMembers", _POLICY.to_bytes(32), _address_bytes(holder)), int(listed))
        ids = artifact().variable("_policyIds").slot
        self.storage.write(ids, _POLICY | _POLICY << 64 | _POLICY << 128)


class Nonces:
    """Account nonces."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def get(self, holder: str, _default: int = 0) -> int:
        return int(self.storage.chain.rpc("eth_getTransactionCount", holder, self.storage.block), 16)

    __getitem__ = get


class State:
    """The counterpart of the `State` of a chain in memory."""

    def __init__(self, chain: Chain, block: str, known: Iterable[str]) -> None:
        self._storage = Storage(chain, block)
        self._known = tuple(known)
        self.balances = Balances(self._storage)
        self.allowances = Allowances(self._storage)
        self.used = Used(self._storage)
        self.nonces = Nonces(self._storage)
        self.policy_forbids = Forbidden(self._storage, self._known)

    @property
    def paused(self) -> bool:
        return bool(self._storage.read(artifact().variable("paused").slot) >> 160 & 1)

    @paused.setter
    def paused(self, paused: bool) -> None:
        slot = artifact().variable("paused").slot
        self._storage.write(slot, self._storage.read(slot) & ~(1 << 160) | paused << 160)

    @property
    def blacklisted(self) -> Any:
        return Listed(self._storage, self._known)

    @blacklisted.setter
    def blacklisted(self, holders: set[str]) -> None:
        listed = Listed(self._storage, self._known)
        for holder in self._known:
            listed.put(holder, listed=holder in holders)
