"""Every typed call against a node: over HTTP, and to an application and a chain in this process."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_utils import to_checksum_address

from foreseal.client import (
    AsyncClient,
    Backoff,
    Client,
    ConnectionLost,
    Options,
    Position,
    RpcError,
    TimedOut,
    Transaction,
    calls,
)
from foreseal.preconfirmation import verify_preconfirmation
from foreseal.server import App, DevChain, Settings
from foreseal.testing import Chain
from live import DEV_ACCOUNTS, LiveNode
from live.contracts import contract
from live.sending import CHAIN_ID, signed

TOKEN = contract("Token")


def raw(account: Any, nonce: int, **fields: Any) -> bytes:
    return bytes.fromhex(signed(account, nonce, **fields)[2:])


def deployment(account: Any, nonce: int) -> bytes:
    """Return a token's creation whose supply of 1,000 goes to the account, with one Transfer."""
    code = TOKEN.bytecode + f"{1000:064x}"
    transaction = {"chainId": CHAIN_ID, "nonce": nonce, "gas": 2_000_000, "gasPrice": 10**10, "data": code, "value": 0}
    return bytes(account.sign_transaction(transaction).raw_transaction)


def transfer_call(to: str, amount: int) -> str:
    return "0xa9059cbb" + to[2:].lower().rjust(64, "0") + f"{amount:064x}"


@pytest.fixture(scope="module")
def client(node: LiveNode) -> Iterator[Client]:
    with Client(node.url) as made:
        yield made


def test_node_information_is_typed(client: Client) -> None:
    assert client.chain_id() == CHAIN_ID
    status = client.status()
    assert (status.role, status.phase, status.producing) == ("sequencer", "producing", True)
    assert status.latest is not None
    assert client.block_number() >= status.latest
    assert client.gas_price() > client.max_priority_fee_per_gas() >= 0
    assert client.blob_base_fee() >= 1
    assert client.request("web3_clientVersion").startswith("anvil-compatible/foreseal/")


def test_a_transaction_from_its_submission_to_its_sealed_block(client: Client) -> None:
    account, other = DEV_ACCOUNTS[0], DEV_ACCOUNTS[1]
    nonce = client.get_transaction_count(account.address, "pending")
    before = client.get_balance(other.address, "pending")
    bytes_ = raw(account, nonce, to=other.address, value=7)
    hash = client.send_raw_transaction(bytes_)
    assert hash == calls.transaction_hash(bytes_)
    receipt = client.wait_for_receipt(hash, 10)
    assert (receipt.succeeded, receipt.gas_used, receipt.logs) == (True, 21000, ())
    assert client.get_balance(other.address, "pending") == before + 7
    transaction = client.get_transaction(hash)
    assert transaction is not None
    assert (transaction.sender, transaction.value, transaction.nonce) == (account.address.lower(), 7, nonce)
    status = client.transaction_status(hash)
    assert status.status in ("preconfirmed", "sealed")
    assert (status.block_number, status.flashblock_index is not None) == (receipt.block_number, True)

    sealed = client.wait_for_receipt(hash, 10, sealed=True)
    assert client.transaction_status(hash).status == "sealed"
    block = client.get_block(sealed.block_number, full=True)
    assert block is not None
    assert block.hash == sealed.block_hash
    assert hash in block.transaction_hashes
    assert isinstance((block.transactions or ())[0], Transaction)
    assert sealed in (client.get_block_receipts(block.hash) or ())
    assert client.get_block(Position(block.number, 0)) is not None
    assert client.get_block("0x" + "ab" * 32) is None
    promise = client.get_preconfirmation(hash)
    assert promise is not None
    signer = client.status().signer
    assert verify_preconfirmation(promise, signer, chain_id=CHAIN_ID).transaction_hash == hash
    assert client.get_preconfirmation("0x" + "ab" * 32) is None
    with pytest.raises(RpcError, match="nonce too low"):
        client.send_raw_transaction(bytes_)


def test_transaction_is_sent_and_awaited_in_one_call(client: Client) -> None:
    account = DEV_ACCOUNTS[2]
    nonce = client.get_transaction_count(account.address, "pending")
    first = client.send_raw_transaction_sync(raw(account, nonce), 30.0)
    assert first.succeeded
    with pytest.raises(RpcError) as caught:
        client.send_raw_transaction_sync(raw(account, nonce + 5))
    assert caught.value.code == 6


def test_missing_receipt_raises_a_timeout(client: Client) -> None:
    with pytest.raises(TimedOut, match="no receipt of 0xabab"):
        client.wait_for_receipt("0x" + "ab" * 32, 0.3)


def test_contract_state_and_logs_are_read(client: Client) -> None:
    account, other = DEV_ACCOUNTS[3], DEV_ACCOUNTS[4]
    nonce = client.get_transaction_count(account.address, "pending")
    created = client.send_raw_transaction_sync(deployment(account, nonce), 30.0)
    token = created.contract_address
    assert token is not None
    for amount in range(1, 8):
        sending = raw(
            account,
            nonce + amount,
            to=to_checksum_address(token),
            data=transfer_call(other.address, amount),
            gas=100_000,
        )
        assert client.send_raw_transaction_sync(sending, 30.0).succeeded
    assert len(client.get_code(token, "pending")) > 2
    holding = {"to": token, "data": "0x70a08231" + other.address[2:].lower().rjust(64, "0")}
    assert int(client.call(holding, "pending"), 16) == 28
    assert int(client.get_storage_at(token, 0, "pending"), 16) == 1000
    assert client.estimate_gas({"from": account.address, **holding, "value": 0}, "pending") > 21000
    with pytest.raises(RpcError, match="reverted") as caught:
        client.call({"from": other.address, "to": token, "data": transfer_call(account.address, 29)}, "pending")
    assert caught.value.code == 3

    first = created.block_number
    topics = [None, None, "0x" + other.address[2:].lower().rjust(64, "0")]
    for page in (None, 1, 3):
        logs = client.get_logs(first, "pending", token, topics, page=page)
        assert [int(log.data, 16) for log in logs] == list(range(1, 8))
    assert client.get_logs(first, first, token) == client.get_logs(first, first, bytes.fromhex(token[2:]))
    assert client.get_logs(block=created.block_hash, address=token)[0].transaction_hash == created.transaction_hash
    one = client.get_logs_page(first, "pending", token, limit=2)
    assert (len(one.logs), one.cursor is None) == (2, False)
    with pytest.raises(ValueError, match="block must be the hash or cursor"):
        client.get_logs(block=5)


def test_batch_results_are_typed(client: Client) -> None:
    asked = [calls.block_number(), calls.get_block(), calls.get_receipt("0x" + "00" * 32)]
    number, block, receipt = client.batch(asked)
    assert (block.number, receipt) == (number, None)
    failed = client.batch([calls.get_balance("0x12"), calls.chain_id()], return_errors=True)
    assert isinstance(failed[0], RpcError)
    assert failed[1] == CHAIN_ID


async def test_the_awaited_client_has_the_same_methods(node: LiveNode) -> None:
    async with AsyncClient(node.url) as client:
        account = DEV_ACCOUNTS[5]
        nonce = await client.get_transaction_count(account.address, "pending")
        numbers = await asyncio.gather(*(client.block_number() for _ in range(10)))
        assert max(numbers) - min(numbers) <= 1
        hash = await client.send_raw_transaction(raw(account, nonce))
        assert (await client.wait_for_receipt(hash, 10)).transaction_hash == hash
        assert await client.batch([calls.chain_id()]) == [CHAIN_ID]
        with pytest.raises(RpcError):
            await client.get_balance("0x12")


async def test_an_application_in_this_process_needs_no_socket(tmp_path: Path) -> None:
    app = App(Settings(datadir=tmp_path, dev=DevChain()))
    await app.startup()
    try:
        await app.wait_until_ready()
        async with AsyncClient(app) as client:
            assert await client.chain_id() == CHAIN_ID
            assert (await client.status()).phase == "producing"
            with pytest.raises(RpcError):
                await client.request("no_such_method")
    finally:
        await app.shutdown()


def test_method_signatures_are_typed(chain: Chain) -> None:
    for client in (Client(chain), AsyncClient(chain)):
        assert str(inspect.signature(client.get_balance)).startswith("(address: ")
        assert list(inspect.signature(client.wait_for_receipt).parameters) == ["hash", "timeout", "sealed"]
        for name in ("get_balance", "wait_for_receipt", "batch", "get_logs"):
            method = getattr(client, name)
            assert method.__name__ == name
            assert len(method.__doc__) > 10


def test_arguments_of_a_wrong_type_are_named(chain: Chain) -> None:
    client, cursor = Client(chain), {"block": "0x0", "index": "0x0", "hash": "0x" + "00" * 32}
    with pytest.raises(TypeError, match=r"cursor must be a Cursor \(Cursor\.read parses a saved one\), got dict"):
        client.feed(cursor)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cursor must be a Cursor"):
        client.get_flashblocks(cursor)
    with pytest.raises(TypeError, match="requests must be a list of requests made by"):
        client.batch(["eth_blockNumber"])


@pytest.fixture
def chain() -> Iterator[Chain]:
    with Chain() as made:
        yield made


def test_a_chain_in_this_process(chain: Chain) -> None:
    with Client(chain) as client:
        account = chain.accounts[0].signer()
        receipt = client.wait_for_receipt(client.send_raw_transaction(raw(account, 0)), 0.0)
        assert receipt.block_number == client.block_number() == 1
        assert client.batch([calls.get_transaction_count(account.address), calls.gas_price()])[0] == 1
        chain.automine = False
        hash = client.send_raw_transaction(raw(account, 1))
        assert client.transaction_status(hash).status == "pooled"
        chain.step()
        assert client.transaction_status(hash).status == "preconfirmed"
        with pytest.raises(RpcError) as caught:
            client.send_raw_transaction(raw(account, 5, value=10**30))
        assert caught.value.data is not None


async def test_a_chain_under_asyncio(chain: Chain) -> None:
    async with AsyncClient(chain) as client:
        assert await client.block_number() == 0
        assert await client.batch([calls.chain_id()]) == [CHAIN_ID]


@pytest.mark.parametrize("lose", [1, 2])
def test_sealed_transaction_with_a_lost_response_counts_as_sent(chain: Chain, lose: int) -> None:
    """The node executes every attempt, and the responses to the first ones are lost."""
    with Client(chain, Options(backoff=Backoff(0.0, 0.0))) as client:
        transport = client.session.transport
        answered = transport.exchange
        transport.exchange = _losing(answered, lose)  # type: ignore[method-assign]
        sending = raw(chain.accounts[0].signer(), 0)
        assert client.send_raw_transaction(sending) == calls.transaction_hash(sending)
        assert client.get_transaction_count(chain.accounts[0].address) == 1


def _losing(exchange: Callable[..., Any], count: int) -> Callable[..., Any]:
    left = [count]

    def lose(body: bytes, seconds: float) -> Any:
        answer = exchange(body, seconds)
        if left[0]:
            left[0] -= 1
            raise ConnectionLost("the answer was lost")
        return answer

    return lose
