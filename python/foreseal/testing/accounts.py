"""Funded accounts of a test chain."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount


@dataclass(frozen=True, slots=True)
class TestAccount:
    """An account with a public, well-known key. `str` returns its address."""

    __test__ = False

    address: str
    """Address with its checksum (EIP-55)."""
    key: str = field(repr=False)
    """Private key, 32 bytes as 0x hex."""

    def __str__(self) -> str:
        return self.address

    def signer(self) -> "LocalAccount":
        """Return the eth-account account, which signs transactions and messages. Needs the package eth-account."""
        return _signer(self.key)


@lru_cache(maxsize=256)
def _signer(key: str) -> "LocalAccount":
    """Return the eth-account account, cached because deriving the address of a key takes milliseconds."""
    from eth_account import Account

    signer: LocalAccount = Account.from_key(key)
    return signer
