"""Contracts that exist from genesis: entries of the `alloc` of a genesis file in geth's format."""

from foreseal.payments.contracts import addresses
from foreseal.payments.contracts.artifact import load
from foreseal.payments.contracts.storage import encode_slot
from foreseal.payments.contracts.token import TokenGenesis

# Contract at each fixed address, and the addresses that its code embeds as immutables.
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


def code_entry(contract: str, **immutables: str) -> dict[str, object]:
    """Return the entry of a contract with empty storage and with addresses as immutables.

    Raises ValueError unless all immutables are given.
    """
    code = load(contract).code(**{name: encode_slot(address) for name, address in immutables.items()})
    # Nonce 1, as a creation transaction would leave it (EIP-161).
    return {"balance": "0x0", "nonce": "0x1", "code": "0x" + code.hex()}


def x402_alloc() -> dict[str, dict[str, object]]:
    """Return the contracts at x402's fixed addresses, by address in lower case."""
    return {address.lower(): code_entry(contract, **immutables) for address, (contract, immutables) in _FIXED.items()}


def token_alloc(token: TokenGenesis, chain_id: int, address: str | None = None) -> dict[str, dict[str, object]]:
    """Return a token entry by lower-case address: at `address`, or where the x402 packages expect one on this chain.

    Raises ValueError if they expect none, and for an invalid initial state.
    """
    where = address or addresses.TOKENS.get(chain_id)
    if where is None:
        raise ValueError(f"chain {chain_id} has no token known to the x402 packages: pass an address")
    return {where.lower(): token.alloc(where, chain_id)}


def checkout_entry(token: str, merchant: str) -> dict[str, object]:
    """Return the entry of a checkout for a token; it pays the merchant."""
    return code_entry("Checkout", token=token, merchant=merchant)


def batch_capture_entry(token: str, merchant: str) -> dict[str, object]:
    """Return the entry of a contract that captures batches of a token's authorizations; it pays the merchant."""
    return code_entry("BatchCapture", token=token, merchant=merchant)


def payouts_entry(token: str) -> dict[str, object]:
    """Return the entry of a contract for payouts of a token."""
    return code_entry("Payouts", token=token)
