"""web3.py's AsyncWeb3, unmodified, over a WebSocket."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from web3 import AsyncWeb3, Web3, WebSocketProvider
from web3.middleware import SignAndSendRawMiddlewareBuilder
from web3.utils.subscriptions import EthSubscription

from live import DEV_ACCOUNTS, LiveNode, Rpc, wait_for
from live.contracts import contract
from live.sending import CHAIN_ID, Sender

BOARD = contract("Board")
ACCOUNT = DEV_ACCOUNTS[1]
TIME = 30.0


@asynccontextmanager
async def connected(node: LiveNode) -> AsyncIterator[AsyncWeb3[Any]]:
    async with AsyncWeb3(WebSocketProvider(node.url.replace("http", "ws"))) as w3:
        w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(ACCOUNT), layer=0)
        w3.eth.default_account = ACCOUNT.address
        yield w3


class Streams:
    """Subscriptions of one connection by name, and their received messages."""

    def __init__(self, w3: AsyncWeb3[Any]) -> None:
        self._w3 = w3
        self._changed = asyncio.Event()
        self.heard: dict[str, list[Any]] = {}
        self.ids: dict[str, str] = {}

    async def subscribe(self, name: str, *params: Any) -> None:
        heard = self.heard[name] = []

        async def hear(context: Any) -> None:
            heard.append(context.result)
            self._changed.set()

        subscription: EthSubscription[Any] = EthSubscription(params, handler=hear, label=name)
        self.ids[name] = await self._w3.subscription_manager.subscribe(subscription)

    async def wait(self, name: str, wanted: Callable[[Any], bool]) -> Any:
        """Return the first matching message of a subscription."""
        async with asyncio.timeout(TIME):
            while True:
                for result in self.heard[name]:
                    if wanted(result):
                        return result
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def handling(w3: AsyncWeb3[Any]) -> AsyncIterator[None]:
    """Run the subscriptions' handlers for the context, and raise their errors."""
    running = asyncio.ensure_future(w3.subscription_manager.handle_subscriptions(run_forever=True))
    try:
        yield
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


def deployed(rpc: Rpc) -> str:
    """Return the address of a new board."""
    sent = Sender(rpc, ACCOUNT).send(to="", data=BOARD.bytecode + f"{1:064x}", gas=2_000_000)
    receipt = wait_for(lambda: rpc("eth_getTransactionReceipt", sent), TIME, "the board")
    return Web3.to_checksum_address(receipt["contractAddress"])


def plain(value: Any) -> str:
    """Return a hash as 0x hex, from bytes or text."""
    return value if isinstance(value, str) else "0x" + bytes(value).hex()


def hash_of(result: Any) -> str:
    """Return the transaction hash of a result, which is a hash or an object."""
    if isinstance(result, str | bytes):
        return plain(result)
    return plain(result["transactionHash"] if "transactionHash" in result else result["hash"])


def removed(result: Any) -> bool:
    return not isinstance(result, str | bytes) and bool(result.get("removed"))


def undo_from(rpc: Rpc, number: int) -> None:
    """Replace the newest blocks, from the one with this number, by empty ones."""

    def block() -> str:
        return str(rpc("eth_getBlockByNumber", hex(number), False)["hash"])

    before = block()
    # A block that is sealed between the two requests makes the depth too small by one.
    while block() == before:
        rpc("anvil_reorg", int(rpc("eth_blockNumber"), 16) - number + 1, [])


async def test_every_subscription_delivers_and_reports_removed_entries(node: LiveNode, rpc: Rpc) -> None:
    address = deployed(rpc)
    async with connected(node) as w3:
        streams = Streams(w3)
        await streams.subscribe("heads", "newHeads")
        await streams.subscribe("logs", "logs", {"address": address})
        await streams.subscribe("pending", "newPendingTransactions")
        await streams.subscribe("pendingLogs", "pendingLogs", {"address": address})
        await streams.subscribe("hashes", "newFlashblockTransactions")
        async with handling(w3):
            board = w3.eth.contract(address=address, abi=BOARD.abi)
            sent = plain(await board.functions.set(2, "streams").transact({"gas": 200_000}))

            def is_ours(result: Any) -> bool:
                return hash_of(result) == sent

            def is_undone(result: Any) -> bool:
                return removed(result) and hash_of(result) == sent

            assert not removed(await streams.wait("pending", is_ours))
            pre_confirmed = await streams.wait("pendingLogs", is_ours)
            assert not removed(await streams.wait("hashes", is_ours))
            log = await streams.wait("logs", is_ours)
            assert [entry["removed"] for entry in (pre_confirmed, log)] == [False, False]
            number = log["blockNumber"]
            head = await streams.wait("heads", lambda result: result["number"] == number)
            assert plain(head["hash"]) == plain(log["blockHash"])
            undo_from(rpc, number)
            for name in ("logs", "pendingLogs", "hashes"):
                await streams.wait(name, is_undone)
            await streams.wait("heads", lambda told: told["number"] == number and told["hash"] != head["hash"])


async def test_full_pre_confirmed_transactions_arrive(node: LiveNode, rpc: Rpc) -> None:
    """Uses EIP-7702 transactions, which web3.py identifies by their fields.

    It treats other objects with a status as syncing events.
    """
    sender = Sender(rpc, ACCOUNT)
    nonce = sender.nonce()
    nobody = "0x" + "00" * 20
    authorization = ACCOUNT.sign_authorization({"chainId": CHAIN_ID, "address": nobody, "nonce": nonce + 1})
    async with connected(node) as w3:
        streams = Streams(w3)
        await streams.subscribe("full", "newFlashblockTransactions", True)
        async with handling(w3):
            sent = sender.send(nonce, type=4, gas=100_000, authorizationList=[authorization])
            result = await streams.wait("full", lambda told: hash_of(told) == sent)
            assert (result["status"], result["logs"]) == ("0x1", [])


async def test_ended_subscription_delivers_nothing(node: LiveNode) -> None:
    async with connected(node) as w3:
        streams = Streams(w3)
        await streams.subscribe("ended", "newHeads")
        await streams.subscribe("other", "newHeads")
        async with handling(w3):
            first = await streams.wait("other", lambda _: True)
            await streams.wait("ended", lambda told: told["number"] == first["number"])
            assert await w3.subscription_manager.unsubscribe(streams.ids["ended"]) is True
            before = len(streams.heard["ended"])
            await streams.wait("other", lambda told: told["number"] >= first["number"] + 3)
            assert len(streams.heard["ended"]) == before
