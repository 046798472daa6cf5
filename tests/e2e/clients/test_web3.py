"""web3.py, unmodified, against a node."""

from typing import Any

import pytest
from eth_account import Account
from web3 import Web3
from web3.exceptions import (
    ContractCustomError,
    ContractLogicError,
    ContractPanicError,
    TransactionNotFound,
    Web3RPCError,
)
from web3.middleware import SignAndSendRawMiddlewareBuilder

from clients.blob_transaction import SENDER, raw_blob_transaction
from live import DEV_ACCOUNTS, LiveNode, Rpc, in_one_block
from live.blocks import wait_for_block
from live.contracts import contract
from live.sending import signed

BOARD = contract("Board")
ACCOUNT = DEV_ACCOUNTS[0]


@pytest.fixture(scope="module")
def w3(node: LiveNode) -> Web3:
    w3 = Web3(Web3.HTTPProvider(node.url))
    w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(ACCOUNT), layer=0)
    w3.eth.default_account = ACCOUNT.address
    return w3


def preconfirmed(w3: Web3, tx_hash: Any) -> Any:
    """Return the receipt once it exists; web3.py's own wait accepts a pre-confirmed one."""
    return w3.eth.wait_for_transaction_receipt(tx_hash, timeout=20, poll_latency=0.01)


def read_pending(w3: Web3, tx_hash: Any, number: int) -> Any:
    """Return the receipt of a transaction in the pending block, the only block that can contain it."""
    receipt = preconfirmed(w3, tx_hash)
    block = w3.eth.get_block("pending")
    assert receipt["status"] == 1
    assert (receipt["blockNumber"], receipt["blockHash"]) == (block["number"], block["hash"])
    assert block["number"] == number
    assert tx_hash in block["transactions"]
    return receipt


def pending_nonce(w3: Web3) -> int:
    return w3.eth.get_transaction_count(ACCOUNT.address, "pending")


def deployed_board(w3: Web3) -> Any:
    receipt = preconfirmed(w3, w3.eth.contract(**BOARD._asdict()).constructor(7).transact())
    return w3.eth.contract(address=receipt["contractAddress"], abi=BOARD.abi)


def test_the_chain_is_recognized(w3: Web3) -> None:
    assert w3.is_connected()
    assert w3.eth.chain_id == 31337
    assert w3.client_version.lower().startswith("anvil-compatible/foreseal/")
    assert w3.eth.syncing is False
    assert w3.eth.get_balance(Account.create().address, "pending") == 0
    assert w3.eth.fee_history(1, "latest", [50])["oldestBlock"] <= w3.eth.block_number


def test_receipt_is_equal_while_pending_and_once_sealed(w3: Web3, rpc: Rpc) -> None:
    to = Account.create().address
    amount = w3.to_wei("0.5", "ether")

    def transfer(number: int) -> tuple[Any, int]:
        before = w3.eth.get_balance(to, "pending")
        tx_hash = w3.eth.send_transaction({"to": to, "value": amount})
        receipt = read_pending(w3, tx_hash, number)
        assert w3.eth.get_balance(to, "pending") == before + amount
        assert w3.eth.get_balance(to, "latest") == before
        assert w3.eth.get_transaction(tx_hash)["blockHash"] == receipt["blockHash"]
        assert receipt["gasUsed"] == 21000
        return receipt, before + amount

    pending, balance = in_one_block(rpc, transfer)
    wait_for_block(rpc, pending["blockNumber"])
    assert w3.eth.get_transaction_receipt(pending["transactionHash"]) == pending
    assert w3.eth.get_block(pending["blockNumber"])["hash"] == pending["blockHash"]
    assert w3.eth.get_balance(to, "latest") == balance


def test_the_next_nonce_comes_from_pending(w3: Web3, rpc: Rpc) -> None:
    def send_three(_number: int) -> None:
        latest, first = w3.eth.get_transaction_count(ACCOUNT.address, "latest"), pending_nonce(w3)
        sent = [w3.eth.send_transaction({"to": ACCOUNT.address}) for _ in range(3)]
        assert pending_nonce(w3) == first + 3
        for tx_hash in sent:
            preconfirmed(w3, tx_hash)
        assert [w3.eth.get_transaction(tx_hash)["nonce"] for tx_hash in sent] == [first, first + 1, first + 2]
        assert pending_nonce(w3) == first + 3
        assert w3.eth.get_transaction_count(ACCOUNT.address, "latest") == latest

    in_one_block(rpc, send_three)


def test_contract_is_deployed_called_and_its_logs_read_on_pending(w3: Web3, rpc: Rpc) -> None:
    answers = in_one_block(rpc, lambda number: use_board_on_pending(w3, number))
    number = answers["block"]["number"]
    wait_for_block(rpc, number)
    receipts = [w3.eth.get_transaction_receipt(receipt["transactionHash"]) for receipt in answers["receipts"]]
    assert receipts == answers["receipts"]
    assert w3.eth.get_block(number, True) == answers["block"]
    assert w3.eth.get_block_receipts(number) == answers["block receipts"]
    assert w3.eth.get_logs({"address": answers["address"], "fromBlock": number, "toBlock": number}) == answers["logs"]


def use_board_on_pending(w3: Web3, number: int) -> dict[str, Any]:
    """Query everything on an unsealed block, and return the values that sealing must not change."""
    deployed = read_pending(w3, w3.eth.contract(**BOARD._asdict()).constructor(7).transact(), number)
    address = deployed["contractAddress"]
    board = w3.eth.contract(address=address, abi=BOARD.abi)
    assert board.functions.value().call(block_identifier="pending") == 7
    assert w3.eth.get_code(address, "latest") == b""
    assert int.from_bytes(w3.eth.get_storage_at(address, 0, "pending")) == 7

    call = board.functions.set(8, "first")
    estimate = call.estimate_gas(block_identifier="pending")
    done = read_pending(w3, call.transact({"gas": estimate}), number)
    assert done["gasUsed"] <= estimate <= done["gasUsed"] * 1.015
    assert board.functions.value().call(block_identifier="pending") == 8

    wanted = {"author": ACCOUNT.address, "value": 8}
    logs = board.events.ValueSet.get_logs(from_block="pending", to_block="pending", argument_filters=wanted)
    assert [dict(log["args"]) for log in logs] == [{**wanted, "previous": 7, "note": "first"}]
    assert (logs[0]["blockNumber"], logs[0]["blockHash"]) == (number, done["blockHash"])
    other = {"value": 9}
    assert not board.events.ValueSet.get_logs(from_block="pending", to_block="pending", argument_filters=other)
    return {
        "address": address,
        "block": w3.eth.get_block("pending", True),
        "block receipts": w3.eth.get_block_receipts("pending"),
        "receipts": [w3.eth.get_transaction_receipt(receipt["transactionHash"]) for receipt in (deployed, done)],
        "logs": w3.eth.get_logs({"address": address, "fromBlock": "pending", "toBlock": "pending"}),
    }


def send_kind(w3: Any, **fields: Any) -> tuple[Any, Any]:
    """Sign and send a transaction of the kind given by the fields; return web3.py's transaction and receipt."""
    return read_sent(w3, signed(ACCOUNT, pending_nonce(w3), gas=100_000, **fields))


def read_sent(w3: Web3, raw: Any) -> tuple[Any, Any]:
    tx_hash = w3.eth.send_raw_transaction(raw)
    receipt = preconfirmed(w3, tx_hash)
    assert receipt["status"] == 1
    return w3.eth.get_transaction(tx_hash), receipt


def test_a_legacy_transaction_is_understood(w3: Web3) -> None:
    transaction, receipt = send_kind(w3, gasPrice=10**10)
    assert (transaction["type"], receipt["type"]) == (0, 0)
    assert transaction["v"] in (2 * 31337 + 35, 2 * 31337 + 36)
    assert "yParity" not in transaction


def test_an_access_list_is_understood(w3: Web3) -> None:
    entry = {"address": ACCOUNT.address, "storageKeys": ["0x" + "00" * 32]}
    transaction, receipt = send_kind(w3, gasPrice=10**10, accessList=[entry])
    assert (transaction["type"], receipt["type"]) == (1, 1)
    assert [dict(entry) for entry in transaction["accessList"]] == [entry]
    assert receipt["gasUsed"] == 21000 + 2400 + 1900


def test_a_delegation_is_understood(w3: Web3) -> None:
    authority = Account.create()
    authorization = authority.sign_authorization({"chainId": 31337, "address": ACCOUNT.address, "nonce": 0})
    transaction, receipt = send_kind(w3, type=4, authorizationList=[authorization])
    assert (transaction["type"], receipt["type"]) == (4, 4)
    assert [entry["address"] for entry in transaction["authorizationList"]] == [ACCOUNT.address]
    delegation = bytes.fromhex("ef0100" + ACCOUNT.address[2:])
    assert w3.eth.get_code(authority.address, "pending") == delegation
    assert w3.eth.get_transaction_count(authority.address, "pending") == 1


def test_a_blob_is_understood(w3: Web3, rpc: Rpc) -> None:
    transaction, receipt = read_sent(w3, raw_blob_transaction())
    assert transaction["from"] == SENDER.address
    assert (transaction["type"], receipt["type"]) == (3, 3)
    assert len(transaction["blobVersionedHashes"]) == 1
    assert transaction["blobVersionedHashes"][0][0] == 1
    assert receipt["blobGasUsed"] == 2**17
    assert receipt["blobGasPrice"] >= 1
    wait_for_block(rpc, receipt["blockNumber"])
    assert w3.eth.get_block(receipt["blockNumber"])["blobGasUsed"] == 2**17


@pytest.fixture(scope="module")
def board(w3: Web3) -> Any:
    return deployed_board(w3)


def error_arguments(board: Any, error: Any, signature: str) -> tuple[Any, ...]:
    """Return the arguments of an error with this signature, from the data that web3.py passes on."""
    data = bytes.fromhex(error.data.removeprefix("0x"))
    assert data[:4] == Web3.keccak(text=signature)[:4]
    types = signature.partition("(")[2].rstrip(")").split(",")
    return tuple(board.w3.codec.decode(types, data[4:]))


def test_a_reason_is_decoded(board: Any) -> None:
    call = board.functions.failWithReason()
    with pytest.raises(ContractLogicError) as called:
        call.call(block_identifier="pending")
    assert called.value.message == "execution reverted: the board is closed"
    with pytest.raises(ContractLogicError) as estimated:
        call.estimate_gas(block_identifier="pending")
    assert estimated.value.message == "execution reverted"
    for raised in (called.value, estimated.value):
        assert error_arguments(board, raised, "Error(string)") == ("the board is closed",)


def test_a_custom_error_is_decoded(board: Any) -> None:
    call = board.functions.failWithCustomError(42)
    for fails in (call.call, call.estimate_gas):
        with pytest.raises(ContractCustomError) as raised:
            fails(block_identifier="pending")
        author, value = error_arguments(board, raised.value, "Refused(address,uint256)")
        assert (author, value) == (ACCOUNT.address.lower(), 42)


def test_a_panic_is_decoded(board: Any) -> None:
    call = board.functions.divide(0)
    for fails in (call.call, call.estimate_gas):
        with pytest.raises(ContractPanicError, match="Panic error 0x12"):
            fails(block_identifier="pending")


def test_a_revert_without_data_is_recognized(board: Any) -> None:
    call = board.functions.failWithoutData()
    for fails in (call.call, call.estimate_gas):
        with pytest.raises(ContractLogicError, match="execution reverted") as raised:
            fails(block_identifier="pending")
        assert raised.value.data in ("0x", None)


def test_token_payment_is_visible_while_pending(w3: Any, rpc: Rpc) -> None:
    receipt = preconfirmed(w3, w3.eth.contract(**contract("Token")._asdict()).constructor(10**12).transact())
    wait_for_block(rpc, receipt["blockNumber"])
    token = w3.eth.contract(address=receipt["contractAddress"], abi=contract("Token").abi)
    merchant = Account.create().address

    def pay(number: int) -> Any:
        before = token.functions.balanceOf(merchant).call(block_identifier="pending")
        paid = read_pending(w3, token.functions.transfer(merchant, 250).transact(), number)
        (log,) = token.events.Transfer.get_logs(
            from_block="pending", to_block="pending", argument_filters={"to": merchant}
        )
        assert dict(log["args"]) == {"from": ACCOUNT.address, "to": merchant, "value": 250}
        assert log["transactionHash"] == paid["transactionHash"]
        balance = token.functions.balanceOf(merchant).call(block_identifier="pending")
        # The mapping is the contract's second variable.
        slot = Web3.solidity_keccak(["uint256", "uint256"], [int(merchant, 16), 1])
        stored = w3.eth.get_storage_at(token.address, int.from_bytes(slot), "pending")
        assert balance == before + 250 == int.from_bytes(stored)
        assert token.functions.balanceOf(merchant).call() == before, "latest has not moved"
        return log

    log = in_one_block(rpc, pay)
    wait_for_block(rpc, log["blockNumber"])
    number, wanted = log["blockNumber"], {"to": merchant}
    assert token.events.Transfer.get_logs(from_block=number, to_block=number, argument_filters=wanted) == [log]
    with pytest.raises(ContractCustomError) as raised:
        token.functions.transfer(merchant, 10**13).estimate_gas(block_identifier="pending")
    owner, _have, want = error_arguments(token, raised.value, "InsufficientBalance(address,uint256,uint256)")
    assert (owner, want) == (ACCOUNT.address.lower(), 10**13)


def test_insufficient_funds_is_not_a_revert(w3: Any) -> None:
    poor = Account.create().address
    with pytest.raises(Web3RPCError, match="insufficient funds"):
        w3.eth.estimate_gas({"from": poor, "to": ACCOUNT.address, "value": 1}, "pending")


def test_errors_of_the_specification_are_recognized(w3: Any) -> None:
    preconfirmed(w3, w3.eth.send_transaction({"to": ACCOUNT.address}))
    nonce = pending_nonce(w3)
    fields = {"to": ACCOUNT.address, "gas": 21000, "maxFeePerGas": 10**10, "maxPriorityFeePerGas": 10**9}
    # A nonce gap keeps it in the pool.
    w3.eth.send_transaction({**fields, "nonce": nonce + 5})
    refused = {
        "already known": {"nonce": nonce + 5},
        "replacement transaction underpriced": {"nonce": nonce + 5, "value": 1},
        "nonce too low": {"nonce": 0},
        r"insufficient funds for gas \* price \+ value": {"nonce": nonce, "value": 10**24},
    }
    for message, change in refused.items():
        with pytest.raises(Web3RPCError, match=message) as raised:
            w3.eth.send_transaction({**fields, **change})
        assert raised.value.rpc_response is not None
        assert raised.value.rpc_response["error"]["code"] == -32000


def test_unknown_transaction_raises_not_found(w3: Any) -> None:
    with pytest.raises(TransactionNotFound):
        w3.eth.get_transaction_receipt("0x" + "11" * 32)
