"""The payment contracts of a development chain: who is who, and where what is (docs/contracts.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from foreseal.payments.contracts.addresses import TOKENS
from foreseal.payments.contracts.genesis import checkout_entry, payouts_entry, token_alloc, x402_alloc
from foreseal.payments.contracts.token import TokenGenesis, TokenSetup

TOKEN = TOKENS[84532]
"""Whatever the chain id, so that a change of it changes nothing else; x402's packages expect it here on chain 84532."""
CHECKOUT = "0xF04e5Ea100000000000000000000000000000001"
PAYOUTS = "0xf04e5EA100000000000000000000000000000002"
NAME, VERSION = "USDC", "2"
"""The token's name and version in its signing domain (EIP-712), as x402's packages have them on chain 84532."""
LEAST_ACCOUNTS = 4
FUNDS = 10**12
"""What each buyer has: a million dollars, in the token's smallest unit."""
_MINTABLE = 10**18


@dataclass(frozen=True, slots=True)
class Development:
    """Who is who on a development chain with payments. Addresses are in hexadecimal."""

    issuer: str
    """Owns the token, mints, pauses and blacklists."""
    merchant: str
    """Is paid by the checkout, and pays out."""
    facilitator: str
    """Settles for sellers (x402)."""
    buyers: tuple[str, ...]
    """Have tokens."""

    @classmethod
    def of(cls, accounts: Sequence[str]) -> Self:
        """Issuer, merchant, facilitator and buyers are the accounts in their order.

        Raises ValueError for fewer than four accounts.
        """
        if len(accounts) < LEAST_ACCOUNTS:
            raise ValueError(f"payments need {LEAST_ACCOUNTS} accounts, not {len(accounts)}")
        issuer, merchant, facilitator, *buyers = accounts
        return cls(issuer, merchant, facilitator, tuple(buyers))

    def alloc(self, chain_id: int) -> dict[str, dict[str, Any]]:
        """What the `alloc` of a genesis file in geth's format has beside funded accounts, by address in lower case:
        token, checkout, payouts, and what x402's clients look for at fixed addresses."""
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
        merchant = {CHECKOUT: checkout_entry(TOKEN, self.merchant), PAYOUTS: payouts_entry(TOKEN)}
        own = {address.lower(): entry for address, entry in merchant.items()}
        return token_alloc(token, chain_id, TOKEN) | own | x402_alloc()
