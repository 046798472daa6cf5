"""Signed transactions, compared with eth-account: sender and hash."""

from functools import cache

from eth_account import Account
from eth_account.typed_transactions.typed_transaction import TypedTransaction
from eth_utils.crypto import keccak
from hexbytes import HexBytes

from foreseal.errors import RpcError
from foreseal.testing import Chain, ChainSettings


@cache
def chain() -> Chain:
    """Return a chain that accepts transactions of any sender without a balance."""
    return Chain(ChainSettings(automine=False))


def stop() -> None:
    """Close it."""
    chain().close()
    chain.cache_clear()


def run(data: bytes) -> None:
    """Check that an accepted transaction has eth-account's hash and sender; most senders have no balance."""
    try:
        told = chain().rpc("eth_sendRawTransaction", "0x" + data.hex())
    except RpcError as error:
        assert error.code == -32000, error
        return
    assert told == "0x" + keccak(data).hex()
    transaction = chain().rpc("eth_getTransactionByHash", told)
    assert transaction["from"] == Account.recover_transaction(data).lower()
    if data[0] < 0x80:
        typed = TypedTransaction.from_bytes(HexBytes(data)).as_dict()
        assert int(transaction["nonce"], 16) == typed["nonce"]
        assert int(transaction["value"], 16) == typed["value"]
        assert transaction["input"] == "0x" + bytes(typed["data"]).hex()
