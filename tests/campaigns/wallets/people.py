"""Accounts of the campaign, and wallets as signers of messages and of x402 payments."""

from dataclasses import dataclass, field
from typing import Any

from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from x402.mechanisms.evm.signers import EthAccountSigner

from foreseal.payments.typed_data import Domain
from payments.people import SHOP, account

FACILITATOR = account(1_101)
AUTHORIZER = account(1_102)
"""Signs claims of payment channels for the seller."""
SPONSOR = account(1_103)
"""Sends the transactions of third parties."""
GAS_PAYERS = (SHOP.address, FACILITATOR.address)


@dataclass(frozen=True)
class Payer:
    """An account that pays, with the key that signs for it."""

    address: str
    key: LocalAccount = field(repr=False)

    def sign(self, message: Any, domain: Domain) -> bytes:
        """Sign a message of the token."""
        signature: bytes = message.sign(domain, bytes(self.key.key))
        return signature

    @property
    def is_contract(self) -> bool:
        """True if the account has another address than its key."""
        return self.address != self.key.address

    def x402_signer(self) -> EthAccountSigner:
        """Return the account as signer of the package `x402`."""
        return _Signer(self)


class _Signer(EthAccountSigner):
    """Signs with the owner's key for the wallet's address."""

    def __init__(self, payer: Payer) -> None:
        super().__init__(payer.key)
        self._wallet = payer.address

    @property
    def address(self) -> str:
        return self._wallet


def payer(number: int, *, is_contract: bool) -> Payer:
    """Return the account with this number."""
    key = account(1_000_000 + number)
    address = to_checksum_address(f"0x{0xC0DE << 64 | number:040x}") if is_contract else key.address
    return Payer(address, key)
