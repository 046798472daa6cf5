"""Accounts of the contract tests, and the token's address."""

from dataclasses import dataclass

from foreseal.payments.contracts import TokenSetup
from foreseal.testing import TestAccount

CHAIN_ID = 84532
TOKEN = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
DOLLAR = 10**6


@dataclass(frozen=True)
class People:
    """Accounts with each role, and some without; addresses in lower case."""

    owner: TestAccount
    buyer: TestAccount
    merchant: TestAccount
    other: TestAccount
    master_minter: TestAccount
    pauser: TestAccount
    blacklister: TestAccount
    minter: TestAccount
    rescuer: TestAccount
    stranger: TestAccount


def setup_of(people: People) -> TokenSetup:
    """Return the token's setup with these accounts."""
    return TokenSetup(
        owner=people.owner.address,
        master_minter=people.master_minter.address,
        pauser=people.pauser.address,
        blacklister=people.blacklister.address,
        name="USDC",
    )
