"""Payment contracts of a development chain: accounts, roles and addresses (docs/merchants/contracts.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from foreseal.payments.contracts.addresses import TOKENS
from foreseal.payments.contracts.genesis import (
    batch_capture_entry,
    checkout_entry,
    payouts_entry,
    token_alloc,
    x402_alloc,
)
from foreseal.payments.contracts.token import TokenGenesis, TokenSetup

TOKEN = TOKENS[84532]
"""Same address for every chain id, so that a change of chain id changes nothing else.

The x402 packages expect it on chain 84532.
"""
CHECKOUT = "0xF04e5Ea100000000000000000000000000000001"
PAYOUTS = "0xf04e5EA100000000000000000000000000000002"
BATCH_CAPTURE = "0xF04e5ea100000000000000000000000000000003"
NAME, VERSION = "USDC", "2"
"""Name and version in the token's signing domain (EIP-712), as the x402 packages have them for chain 84532."""
MIN_ACCOUNTS = 4
FUNDS = 10**12
"""Initial balance of each buyer in smallest units: a million dollars."""
_MINTABLE = 10**18


@dataclass(frozen=True, slots=True)
class DevelopmentContracts:
    """Roles of the accounts on a development chain with payments. Addresses are in hexadecimal."""

    issuer: str
    """Owner of the token; mints, pauses and blacklists."""
    merchant: str
    """Receiver of the checkout's payments and of batch captures, and sender of payouts."""
    facilitator: str
    """Settles payments for sellers (x402)."""
    buyers: tuple[str, ...]
    """Accounts with tokens."""

    @classmethod
    def from_accounts(cls, accounts: Sequence[str]) -> Self:
        """Assign issuer, merchant, facilitator and buyers to the accounts in order.

        Raises ValueError for fewer than four accounts.
        """
        if len(accounts) < MIN_ACCOUNTS:
            raise ValueError(f"payments require {MIN_ACCOUNTS} accounts, got {len(accounts)}")
        issuer, merchant, facilitator, *buyers = accounts
        return cls(issuer, merchant, facilitator, tuple(buyers))

    def alloc(self, chain_id: int) -> dict[str, dict[str, object]]:
        """Return the `alloc` entries of a geth genesis file for the payment contracts, by lower-case address.

        The entries are the token, the checkout, the payouts, the batch capture, and the contracts at x402's fixed
        addresses.
        """
        setup = TokenSetup(
            owner=self.issuer,
            master_minter=self.issuer,
            pauser=self.issuer,
            blacklister=self.issuer,
            name=NAME,
            version=VERSION,
        )
        balances = dict.fromkeys(self.buyers, FUNDS)
        token = TokenGenesis(setup, balances, minters={self.issuer: _MINTABLE}, rescuer=self.issuer)
        merchant = {
            CHECKOUT: checkout_entry(TOKEN, self.merchant),
            PAYOUTS: payouts_entry(TOKEN),
            BATCH_CAPTURE: batch_capture_entry(TOKEN, self.merchant),
        }
        own = {address.lower(): entry for address, entry in merchant.items()}
        return token_alloc(token, chain_id, TOKEN) | own | x402_alloc()
