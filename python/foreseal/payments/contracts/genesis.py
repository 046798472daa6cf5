"""Contracts that are on a chain from its genesis on: entries of the `alloc` of a genesis file in geth's format."""

from typing import Any

from foreseal.payments.contracts import addresses
from foreseal.payments.contracts.artifact import load
from foreseal.payments.contracts.storage import word
from foreseal.payments.contracts.token import TokenGenesis

# What stands at each fixed address, and the addresses that its code holds.
_FIXED: dict[str, tuple[str, dict[str, str]]] = {
    addresses.PERMIT2: ("Permit2", {}),
    addresses.EXACT_PERMIT2_PROXY: ("ExactPermit2Proxy", {"PERMIT2": addresses.PERMIT2}),
    addresses.UPTO_PERMIT2_PROXY: ("UptoPermit2Proxy", {"PERMIT2": addresses.PERMIT2}),
    addresses.BATCH_SETTLEMENT: ("BatchSettlement", {}),
    addresses.ERC3009_DEPOSIT_COLLECTOR: (
        "Erc3009DepositCollector",
        {"x402BatchSettlement": addresses.BATCH_SETTLEMENT},
    ),
    addresses.PERMIT2_DEPOSIT_COLLECTOR: (
        "Permit2DepositCollector",
        {"x402BatchSettlement": addresses.BATCH_SETTLEMENT, "PERMIT2": addresses.PERMIT2},
    ),
    addresses.MULTICALL3: ("Multicall3", {}),
}


def code_entry(contract: str, **immutables: str) -> dict[str, Any]:
    """The entry of a contract that begins with nothing in storage; its immutables are addresses.

    Raises ValueError unless all immutables are given.
    """
    code = load(contract).code(**{name: word(address) for name, address in immutables.items()})
    # As if it had been created by a transaction (EIP-161).
    return {"balance": "0x0", "nonce": "0x1", "code": "0x" + code.hex()}


def x402_alloc() -> dict[str, dict[str, Any]]:
    """The contracts that x402's clients look for at fixed addresses, by address in lower case."""
    return {address.lower(): code_entry(contract, **immutables) for address, (contract, immutables) in _FIXED.items()}


def token_alloc(token: TokenGenesis, chain_id: int, address: str | None = None) -> dict[str, dict[str, Any]]:
    """A token by its address in lower case: at `address`, or where x402's packages expect one on this chain.

    Raises ValueError where they expect none, and for what a token cannot begin with.
    """
    where = address or addresses.TOKENS.get(chain_id)
    if where is None:
        raise ValueError(f"chain {chain_id} has no token that x402's packages know: name an address")
    return {where.lower(): token.alloc(where, chain_id)}


def checkout_entry(token: str, merchant: str) -> dict[str, Any]:
    """The entry of a checkout for a token, which pays a merchant."""
    return code_entry("Checkout", token=token, merchant=merchant)


def payouts_entry(token: str) -> dict[str, Any]:
    """The entry of a contract for payouts of a token."""
    return code_entry("Payouts", token=token)
