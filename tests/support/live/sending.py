"""Signed transactions, made by eth-account."""

from typing import Any

from eth_account.signers.local import LocalAccount

from live.rpc import Rpc

CHAIN_ID = 31337
GWEI = 10**9

# Far above the base fee of a development chain.
MAX_FEE = 10 * GWEI
TIP = GWEI


def signed(account: LocalAccount, nonce: int, **fields: Any) -> str:
    """Return a raw EIP-1559 transfer of 0 wei to its own sender; `fields` change or add fields.

    A `gasPrice` makes it a legacy transaction (EIP-155), an additional `accessList` one of EIP-2930.
    """
    transaction: dict[str, Any] = {"chainId": CHAIN_ID, "nonce": nonce, "to": account.address, "value": 0, "gas": 21000}
    if "gasPrice" not in fields:
        transaction |= {"type": 2, "maxFeePerGas": MAX_FEE, "maxPriorityFeePerGas": TIP}
    elif "accessList" in fields:
        transaction["type"] = 1
    return "0x" + bytes(account.sign_transaction(transaction | fields).raw_transaction).hex()


class Sender:
    """Sends the transactions of one account over one connection."""

    def __init__(self, rpc: Rpc, account: LocalAccount) -> None:
        self.rpc = rpc
        self.account = account

    def nonce(self, block: str = "pending") -> int:
        """Return the next nonce at this block."""
        return int(self.rpc("eth_getTransactionCount", self.account.address, block), 16)

    def send(self, nonce: int | None = None, **fields: Any) -> str:
        """Send a transaction, by default with the next nonce, and return its hash. Raise `RpcFailure`."""
        raw = signed(self.account, self.nonce() if nonce is None else nonce, **fields)
        return str(self.rpc("eth_sendRawTransaction", raw))
