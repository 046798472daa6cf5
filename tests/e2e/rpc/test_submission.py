"""The specification's error table over HTTP: codes, exact messages, replacement, precedence.

A transaction with a nonce gap is pooled and never runs, so a test can inspect the pool at any time. A transaction with
the next nonce is pre-confirmed at the following step.
"""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

from clients.blob_transaction import SENDER as BLOB_SENDER
from clients.blob_transaction import raw_blob_transaction
from live import DEV_ACCOUNTS, Rpc, RpcFailure, in_one_block, wait_for
from live.blocks import wait_for_block
from live.contracts import contract
from live.sending import GWEI, Sender, signed

NONCE_TOO_LOW = "nonce too low"
INSUFFICIENT_FUNDS = "insufficient funds for gas * price + value"
ALREADY_KNOWN = "already known"
UNDERPRICED = "replacement transaction underpriced"

ETHER = 10**18
# A number that is not a multiple of ten, so that ten per cent more is not a whole number of wei.
MAX_FEE = 3 * GWEI + 7
TIP = GWEI + 3


def tenth_more(fee: int) -> int:
    """Return the minimum fee that replaces this one: new * 10 >= old * 11."""
    return -(-fee * 11 // 10)


@pytest.fixture(scope="module")
def unused(rpc: Rpc) -> Iterator[LocalAccount]:
    """Return funded accounts that no other test of this module has used."""
    return (account for account in DEV_ACCOUNTS if account.address != BLOB_SENDER.address)


@pytest.fixture
def account(unused: Iterator[LocalAccount]) -> LocalAccount:
    return next(unused)


def submit(rpc: Rpc, raw: str) -> str:
    tx_hash = rpc("eth_sendRawTransaction", raw)
    assert tx_hash == hash_of(raw)
    return str(tx_hash)


def hash_of(raw: str) -> str:
    return "0x" + keccak(hexstr=raw).hex()


def refused(rpc: Rpc, raw: str) -> RpcFailure:
    """Return the error of a submission; its code is always the same."""
    with pytest.raises(RpcFailure) as raised:
        rpc("eth_sendRawTransaction", raw)
    assert raised.value.code == -32000
    return raised.value


def preconfirm(rpc: Rpc, raw: str) -> str:
    """Send a transaction and wait until it is in a step."""
    tx_hash = submit(rpc, raw)
    wait_for(lambda: rpc("eth_getTransactionReceipt", tx_hash), 10, f"receipt of {tx_hash}")
    return tx_hash


def seal(rpc: Rpc, tx_hash: str) -> None:
    wait_for_block(rpc, int(rpc("eth_getTransactionReceipt", tx_hash)["blockNumber"], 16))


def test_a_nonce_below_the_pending_one_is_too_low(rpc: Rpc, account: LocalAccount) -> None:
    preconfirm(rpc, signed(account, 0))
    submit(rpc, signed(account, 1))
    error = refused(rpc, signed(account, 0, value=1))
    assert error.message == NONCE_TOO_LOW
    assert error.data["have"] == "0x0"
    assert error.data["want"] in ("0x1", "0x2"), "the second may be pre-confirmed already"
    assert error.data["nextNonce"] == "0x2"


def test_funds_must_cover_gas_and_value(rpc: Rpc, account: LocalAccount) -> None:
    balance = int(rpc("eth_getBalance", account.address, "pending"), 16)
    most = balance - 21000 * MAX_FEE
    fees = {"maxFeePerGas": MAX_FEE, "maxPriorityFeePerGas": TIP}
    error = refused(rpc, signed(account, 1, value=most + 1, **fees))
    assert error.message == INSUFFICIENT_FUNDS
    assert error.data == {"have": hex(balance), "want": hex(balance + 1)}
    submit(rpc, signed(account, 1, value=most, **fees))


def test_resubmission_while_pooled_is_already_known(rpc: Rpc, account: LocalAccount) -> None:
    raw = signed(account, 1)
    submit(rpc, raw)
    assert refused(rpc, raw).message == ALREADY_KNOWN


def test_resubmission_while_preconfirmed_is_already_known(rpc: Rpc, account: LocalAccount) -> None:
    def send_twice(_number: int) -> None:
        sender = Sender(rpc, account)
        raw = signed(account, sender.nonce())
        preconfirm(rpc, raw)
        error = refused(rpc, raw)
        assert error.message == ALREADY_KNOWN

    in_one_block(rpc, send_twice)


def test_resubmission_once_sealed_has_a_low_nonce(rpc: Rpc, account: LocalAccount) -> None:
    raw = signed(account, 0)
    seal(rpc, preconfirm(rpc, raw))
    error = refused(rpc, raw)
    assert error.message == NONCE_TOO_LOW
    assert error.data == {"have": "0x0", "want": "0x1", "nextNonce": "0x1"}


def test_replacement_needs_ten_percent_more_on_both_fees(rpc: Rpc, account: LocalAccount) -> None:
    first = submit(rpc, signed(account, 1, maxFeePerGas=MAX_FEE, maxPriorityFeePerGas=TIP))
    max_fee, tip = tenth_more(MAX_FEE), tenth_more(TIP)
    for offered in ((max_fee - 1, tip), (max_fee, tip - 1), (MAX_FEE, TIP), (max_fee * 2, TIP), (max_fee - 1, tip - 1)):
        error = refused(rpc, signed(account, 1, maxFeePerGas=offered[0], maxPriorityFeePerGas=offered[1], value=1))
        assert error.message == UNDERPRICED
        assert error.data == {
            "maxFeePerGas": hex(offered[0]),
            "maxPriorityFeePerGas": hex(offered[1]),
            "wantMaxFeePerGas": hex(max_fee),
            "wantMaxPriorityFeePerGas": hex(tip),
        }
        assert rpc("eth_getTransactionByHash", first)["blockHash"] is None
    second = submit(rpc, signed(account, 1, maxFeePerGas=max_fee, maxPriorityFeePerGas=tip, value=1))
    assert rpc("eth_getTransactionByHash", first) is None
    assert rpc("eth_getTransactionByHash", second)["maxFeePerGas"] == hex(max_fee)


def test_the_nonce_is_checked_before_the_proofs_of_blobs(rpc: Rpc) -> None:
    raw = bytearray(raw_blob_transaction())
    raw[-1] ^= 1  # of the last proof
    assert refused(rpc, "0x" + raw.hex()).message.startswith("blob sidecar is invalid")
    preconfirm(rpc, signed(BLOB_SENDER, 0))
    assert refused(rpc, "0x" + raw.hex()).message == NONCE_TOO_LOW


@pytest.mark.parametrize("access_list", [None, []], ids=["legacy", "2930"])
def test_gas_price_sets_both_fees(rpc: Rpc, account: LocalAccount, access_list: list[Any] | None) -> None:
    fields = {} if access_list is None else {"accessList": access_list}
    submit(rpc, signed(account, 1, gasPrice=MAX_FEE, **fields))
    least = tenth_more(MAX_FEE)
    assert refused(rpc, signed(account, 1, gasPrice=least - 1, **fields)).message == UNDERPRICED
    # The tip of a legacy transaction is its whole price.
    dynamic = {"maxFeePerGas": least, "maxPriorityFeePerGas": least - 1}
    assert refused(rpc, signed(account, 1, **dynamic)).message == UNDERPRICED
    submit(rpc, signed(account, 1, gasPrice=least, **fields))


def test_replacement_without_a_higher_fee_is_rejected(rpc: Rpc, account: LocalAccount) -> None:
    submit(rpc, signed(account, 1, maxFeePerGas=MAX_FEE, maxPriorityFeePerGas=0))
    same = signed(account, 1, maxFeePerGas=MAX_FEE, maxPriorityFeePerGas=0, value=1)
    assert refused(rpc, same).message == UNDERPRICED
    submit(rpc, signed(account, 1, maxFeePerGas=tenth_more(MAX_FEE), maxPriorityFeePerGas=0))


def test_already_known_precedes_funds_and_replacement_checks(rpc: Rpc, account: LocalAccount) -> None:
    raw = signed(account, 2, value=9_000 * ETHER)
    submit(rpc, raw)
    preconfirm(rpc, signed(account, 0, to=DEV_ACCOUNTS[0].address, value=5_000 * ETHER))
    assert refused(rpc, raw).message == ALREADY_KNOWN, "though it cannot pay any more, and replaces nothing"


def test_low_nonce_precedes_the_funds_check(rpc: Rpc, account: LocalAccount) -> None:
    preconfirm(rpc, signed(account, 0))
    assert refused(rpc, signed(account, 0, value=10**6 * ETHER)).message == NONCE_TOO_LOW


def test_funds_check_precedes_replacement(rpc: Rpc, account: LocalAccount) -> None:
    submit(rpc, signed(account, 1))
    assert refused(rpc, signed(account, 1, value=10**6 * ETHER)).message == INSUFFICIENT_FUNDS


def test_account_without_ether_has_a_nonce(rpc: Rpc) -> None:
    error = refused(rpc, signed(Account.create(), 0))
    assert error.message == INSUFFICIENT_FUNDS
    assert error.data["have"] == "0x0"


def test_pending_nonce_counts_the_pool_up_to_the_first_gap(rpc: Rpc, account: LocalAccount) -> None:
    sender = Sender(rpc, account)
    submit(rpc, signed(account, 3))
    assert sender.nonce() == 0
    for nonce in (0, 1):
        submit(rpc, signed(account, nonce))
        assert sender.nonce() == nonce + 1
    last = submit(rpc, signed(account, 2))
    assert sender.nonce() == 4, "the gap is closed"
    wait_for(lambda: rpc("eth_getTransactionReceipt", last), 10, "receipt of the third")
    assert sender.nonce() == 4


@pytest.mark.parametrize(
    ("call", "data"),
    [
        ("failWithReason()", "0x08c379a0"),
        ("failWithCustomError(uint256)", "0x" + keccak(text="Refused(address,uint256)")[:4].hex()),
        ("divide(uint256)", "0x4e487b71"),
        ("failWithoutData()", "0x"),
    ],
)
def test_estimate_of_a_revert_has_the_exact_message_and_data(rpc: Rpc, board: str, call: str, data: str) -> None:
    request = {"from": DEV_ACCOUNTS[19].address, "to": board, "data": "0x" + keccak(text=call)[:4].hex() + "00" * 32}
    with pytest.raises(RpcFailure) as raised:
        rpc("eth_estimateGas", request, "pending")
    assert (raised.value.code, raised.value.message) == (-32000, "execution reverted")
    assert raised.value.data[:10] == data
    with pytest.raises(RpcFailure) as called:
        rpc("eth_call", request, "pending")
    assert called.value.code == 3
    assert called.value.message.startswith("execution reverted")
    assert called.value.data == raised.value.data


@pytest.fixture(scope="module")
def board(rpc: Rpc) -> str:
    """Return the address of a deployed Board."""
    code = contract("Board").bytecode + "00" * 31 + "07"
    sender = Sender(rpc, DEV_ACCOUNTS[19])
    tx_hash = sender.send(to=None, data=code, gas=1_000_000)
    receipt = wait_for(lambda: rpc("eth_getTransactionReceipt", tx_hash), 10, "receipt of the deployment")
    return str(receipt["contractAddress"])


def test_invalid_transaction_is_rejected_with_a_reason(rpc: Rpc, account: LocalAccount) -> None:
    raw = signed(account, 0)
    broken = {
        "0x": -32000,
        "0x02": -32000,
        raw + "00": -32000,
        raw[:-2]: -32000,
        raw[2:]: -32602,
        raw[:-1]: -32602,
        "0xzz": -32602,
    }
    for text, code in broken.items():
        with pytest.raises(RpcFailure) as raised:
            rpc("eth_sendRawTransaction", text)
        assert raised.value.code == code, (text, raised.value.message)
        assert raised.value.message
    wrong = {"chainId": 1}, {"gas": 20999}, {"maxFeePerGas": 1, "maxPriorityFeePerGas": 2}, {"gas": 2**24 + 1}
    messages = [refused(rpc, signed(account, 0, **fields)).message for fields in wrong]
    for message, word in zip(messages, ("chain id", "intrinsic gas", "priority fee", "gas limit"), strict=True):
        assert word in message
    for one, other in itertools.combinations(messages, 2):
        assert one != other


def test_a_batch_with_invalid_json_in_one_call_submits_nothing(rpc: Rpc, account: LocalAccount) -> None:
    """The body is not JSON, so no call of it runs, whichever path it takes."""
    raw = signed(account, Sender(rpc, account).nonce())
    good = b'{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["%b"]}' % raw.encode()
    for params in (b"[nope]", b'["0x",]', b'["0x"}'):
        bad = b'{"jsonrpc":"2.0","id":2,"method":"eth_sendRawTransaction","params":%b}' % params
        answer = rpc.post(b"[%b,%b]" % (good, bad)).json()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert rpc("eth_getTransactionByHash", hash_of(raw)) is None
    assert submit(rpc, raw) == hash_of(raw)
