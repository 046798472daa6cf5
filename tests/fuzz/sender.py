"""Signed transactions, beside eth-account: who sent them, and what they are called."""

from functools import cache

from eth_account import Account
from eth_account.typed_transactions import TypedTransaction
from eth_utils import keccak
from hexbytes import HexBytes

from foreseal.errors import RpcError
from foreseal.testing import Chain, ChainSettings


@cache
def chain() -> Chain:
    """A chain that takes transactions of anybody who has nothing to pay."""
    return Chain(ChainSettings(automine=False))


def stop() -> None:
    """End it."""
    chain().close()
    chain.cache_clear()


def run(data: bytes) -> None:
    """A transaction that is taken has the hash and the sender that eth-account finds; most senders can pay nothing."""
    try:
        told = chain().rpc("eth_sendRawTransaction", "0x" + data.hex())
    except RpcError as error:
        assert error.code == -32000, error
        return
    assert told == "0x" + keccak(data).hex()
    found = chain().rpc("eth_getTransactionByHash", told)
    assert found["from"] == Account.recover_transaction(data).lower()
    if data[0] < 0x80:
        typed = TypedTransaction.from_bytes(HexBytes(data)).as_dict()
        assert int(found["nonce"], 16) == typed["nonce"]
        assert int(found["value"], 16) == typed["value"]
        assert found["input"] == "0x" + bytes(typed["data"]).hex()
