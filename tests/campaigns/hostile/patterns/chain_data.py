"""Transactions that leave or use the most of one resource, and every reader that meets it."""

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

from hostile.chain_data import GENERATORS, Generator
from hostile.client import Client, discard
from hostile.patterns.registry import register
from hostile.signing import Account, Transaction
from hostile.wire import TEXT, Connection, call, frame

_RATE = 2.0
"""Transactions per second of one address."""
_FIRST = 4
"""Accounts of an address that submit."""
_OTHER_ADDRESS = 125
"""Number by which the address of submissions differs from that of reads, which share the limits of one caller."""
_READERS = 6
_FOLLOWERS = 2
_KINDS: tuple[tuple[Any, ...], ...] = (
    ("newHeads",), ("logs", {}), ("pendingLogs", {}), ("newPendingTransactions", True),
    ("newFlashblockTransactions",), ("newFlashblockTransactions", True), ("newFlashblocks",), ("foreseal_feed",),
)  # fmt: skip
_CALL_GAS = hex(50_000_000)
_CALLS = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
_CHANGES = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
_MEMORY = {"enableMemory": True, "enableReturnData": True}
_NO_HASH = "0x" + "00" * 32
EXECUTED = ("opcodes", "precompiles")
"""Resources that leave nothing but the time of their execution."""


class Submissions:
    """Submissions of one address, and the newest transaction with a receipt."""

    def __init__(self, client: Client, generator: Generator) -> None:
        self.client = client
        self.generator = generator
        self.digest: str | None = None
        self.block = "latest"
        self.block_hash = _NO_HASH

    async def run(self, connection: Connection) -> None:
        """Submit at the rate of the campaign; each account waits for none of its earlier transactions."""
        own = self.client.accounts[:_FIRST]
        nonces = [await self.nonce(connection, account) for account in own]
        for number in self.client.ticks():
            turn = number % len(own)
            signed = self.generator.sign(own[turn], nonces[turn], self.client.draw)
            response = await connection.post(call("eth_sendRawTransaction", signed.raw))
            self.client.note(response)
            if response.status == 200 and "result" in response.json():
                nonces[turn] += 1
                self.digest = self.digest or signed.hash
            await self.find(connection, signed.hash)

    async def burst(self, connection: Connection) -> None:
        """Submit transactions for a whole block at once, then wait until the time is over."""
        own = self.client.accounts[:_FIRST]
        nonces = [await self.nonce(connection, account) for account in own]
        for signed in self.generator.block(own, nonces, self.client.draw):
            await self.submit(connection, signed)
            self.digest = self.digest or signed.hash
        for _ in self.client.ticks():
            if self.digest is not None:
                await self.find(connection, self.digest)
            await asyncio.sleep(1 / _RATE)

    async def submit(self, connection: Connection, signed: Transaction) -> None:
        """Submit until the transaction is accepted or rejected: a gap of nonces would stop the rest of the burst."""
        for _ in self.client.ticks():
            response = await connection.post(call("eth_sendRawTransaction", signed.raw))
            self.client.note(response)
            if response.status != 429:
                return
            await asyncio.sleep(0.05)

    async def find(self, connection: Connection, digest: str) -> None:
        """Make a transaction the one that readers read, once it is in a step."""
        await asyncio.sleep(1 / _RATE)
        response = await connection.post(call("eth_getTransactionByHash", digest))
        transaction = response.json().get("result") if response.status == 200 else None
        if transaction and transaction.get("blockNumber"):
            self.digest, self.block, self.block_hash = digest, transaction["blockNumber"], transaction["blockHash"]

    async def nonce(self, connection: Connection, account: Account) -> int:
        """Return the next nonce of an account."""
        body = call("eth_getTransactionCount", account.address, "pending")
        for _ in self.client.ticks():
            response = await connection.post(body)
            if response.status == 200 and "result" in response.json():
                return int(response.json()["result"], 16)
            await asyncio.sleep(0.1)
        return 0


def reads(generator: Generator, digest: str, block: str, block_hash: str, cursor: Any) -> list[bytes]:
    """Return the calls of every method that reads a transaction, its block or what it left.

    The block may be one under construction, which a range of numbers does not reach; `block_hash` is that of a step.
    """
    address = "0x" + generator.address.hex()
    called = {"to": address, "gas": _CALL_GAS}
    in_block = {"blockHash": block_hash}
    all_logs = {"fromBlock": "earliest", "toBlock": "pending"}
    slots = [hex(slot) for slot in range(64)]
    return [
        call("eth_getTransactionReceipt", digest),
        call("eth_getTransactionByHash", digest),
        call("eth_getTransactionByBlockNumberAndIndex", block, "0x0"),
        call("eth_getRawTransactionByHash", digest),
        call("eth_getBlockByNumber", block, True),
        call("eth_getBlockByNumber", "pending", True),
        call("eth_getBlockReceipts", block),
        call("eth_getLogs", in_block),
        call("eth_getLogs", {**in_block, "address": address}),
        call("eth_getLogs", {**all_logs, "address": address}),
        call("foreseal_getLogs", {"filter": all_logs, "limit": "0x64"}),
        call("foreseal_getLogs", {"filter": in_block, "limit": "0x2710"}),
        call("foreseal_getFlashblocks", cursor),
        call("foreseal_preconfirmation", digest),
        call("foreseal_transactionStatus", digest),
        call("debug_getRawTransaction", digest),
        call("debug_getRawReceipts", block),
        call("debug_getRawBlock", block),
        call("debug_traceTransaction", digest, _CALLS),
        call("debug_traceTransaction", digest, _CHANGES),
        call("debug_traceTransaction", digest, _MEMORY),
        call("debug_traceBlockByNumber", block, _CALLS),
        call("debug_traceCall", called, "latest", _CALLS),
        call("eth_getProof", address, slots, "latest"),
        call("eth_getStorageValues", {address: slots}, "latest"),
        call("eth_getCode", address, "latest"),
        call("eth_call", called, "latest"),
        call("eth_estimateGas", called, "latest"),
        call("eth_createAccessList", called, "latest"),
        call("eth_simulateV1", {"blockStateCalls": [{"calls": [called]}]}, "latest"),
        call("eth_feeHistory", "0x10", "latest", [0, 50, 100]),
        call("txpool_content"),
        call("txpool_contentFrom", "0x" + generator.address.hex()),
    ]


def sender_of(client: Client) -> Client:
    """Return a client at another address that sends from the same accounts."""
    sender = Client(client.number + _OTHER_ADDRESS, client.facts, client.accounts, client.deadline, client.seen)
    sender.tls = client.tls
    return sender


async def meet(client: Client, generator: Generator, *, is_burst: bool = False) -> None:
    """Submit, and read all that is left by every method and subscription, with and without a key."""
    sender = sender_of(client)
    submissions = Submissions(sender, generator)
    turns = itertools.count()

    def bodies() -> Iterator[bytes]:
        """Return calls about the newest transaction, each method in turn."""
        for _ in client.ticks():
            digest = submissions.digest or _NO_HASH
            calls = reads(generator, digest, submissions.block, submissions.block_hash, client.facts.cursor)
            yield calls[next(turns) % len(calls)]

    async def read(connection: Connection) -> None:
        for body in bodies():
            response = await connection.post(body)
            client.note(response)
            await asyncio.sleep(0 if response.status == 200 else 0.01)

    async def read_with_key(connection: Connection) -> None:
        for body in bodies():
            client.note(await connection.post(body, client.facts.keys[-1]))
            await asyncio.sleep(0.1)

    await asyncio.gather(
        sender.lanes(1, submissions.burst if is_burst else submissions.run),
        client.lanes(_READERS, read),
        client.lanes(1, read_with_key),
        client.sockets(1, subscribed),
        client.sockets(_FOLLOWERS, lambda connection: followed(client, connection)),
        follow_with_key(client),
    )


async def subscribed(connection: Connection) -> None:
    """Subscribe to everything and read."""
    for kind in _KINDS:
        connection.send(frame(TEXT, call("eth_subscribe", *kind)))
    await discard(connection)


async def followed(client: Client, connection: Connection) -> None:
    """Resume the feed from an early cursor, and read it for two seconds."""
    connection.send(frame(TEXT, call("eth_subscribe", "foreseal_feed", client.facts.cursor)))
    await asyncio.wait_for(discard(connection), 2.0)


async def follow_with_key(client: Client) -> None:
    """Follow with a key from an early cursor; reconnect there after an end, as a client without progress does."""
    if client.number:
        return

    async def act(connection: Connection) -> None:
        if await connection.upgrade(f"Authorization: Bearer {client.facts.keys[-1]}") == 101:
            connection.send(frame(TEXT, call("eth_subscribe", "foreseal_feed", client.facts.cursor)))
            await discard(connection)

    await client.lanes(1, act, retry=0.5)


async def execute(client: Client, generator: Generator) -> None:
    """Submit, and call, trace and simulate the same contract."""
    sender = sender_of(client)
    submissions = Submissions(sender, generator)
    called = {"to": "0x" + generator.address.hex(), "gas": _CALL_GAS}
    bodies = itertools.cycle((
        call("eth_call", called, "latest"), call("eth_call", called, "pending"), call("eth_estimateGas", called),
        call("debug_traceCall", called, "latest", _CALLS), call("eth_createAccessList", called),
        call("eth_simulateV1", {"blockStateCalls": [{"calls": [called]}]}, "latest"),
    ))  # fmt: skip
    await asyncio.gather(sender.lanes(1, submissions.run), client.calls(lambda: next(bodies)))


def _register(generator: Generator) -> None:
    is_executed = generator.resource in EXECUTED

    async def attack(client: Client) -> None:
        await (execute(client, generator) if is_executed else meet(client, generator))

    register(f"data-{generator.name}", generator.description, attack, group=f"chain-{generator.resource}")
    if generator.resource not in EXECUTED:

        async def burst(client: Client) -> None:
            await meet(client, generator, is_burst=True)

        description = f"a block of {generator.in_block}: {generator.description}"
        register(f"block-{generator.name}", description, burst, group=f"chain-{generator.resource}")


for _generator in GENERATORS.values():
    _register(_generator)
