"""Funded accounts of a test chain."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount


@dataclass(frozen=True, slots=True)
class TestAccount:
    """An account whose key everybody knows. Its text is its address."""

    __test__ = False

    address: str
    """With its checksum (EIP-55)."""
    key: str = field(repr=False)
    """Private key, 32 bytes as 0x hex."""

    def __str__(self) -> str:
        return self.address

    def signer(self) -> "LocalAccount":
        """The account as eth-account has it, to sign transactions and messages with. Needs the package eth-account."""
        return _signer(self.key)


@lru_cache(maxsize=256)
def _signer(key: str) -> "LocalAccount":
    """Kept, because finding the address of a key takes milliseconds."""
    from eth_account import Account

    signer: LocalAccount = Account.from_key(key)
    return signer
