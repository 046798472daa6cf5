"""Searches, proofs, histories and uncached reads."""

import asyncio
from typing import Any

from hostile.client import LANES, Client
from hostile.facts import LOGGER, STORED_SLOTS, STORING
from hostile.patterns.registry import pattern
from hostile.wire import Connection, call

_CONTRACT = "0x" + STORING.hex()
_SLOTS = 128
"""Maximum slots that a public caller may name in one call."""


async def _repeated(client: Client, method: str, *params: Any) -> None:
    body = call(method, *params)
    await client.calls(lambda: body)


@pattern("logs-everything", "eth_getLogs of all blocks without criteria")
async def logs_everything(client: Client) -> None:
    """Force a log search up to the result limit."""
    await _repeated(client, "eth_getLogs", {"fromBlock": "0x0", "toBlock": "pending"})


@pattern("logs-nothing", "eth_getLogs of all blocks with topics that match nothing")
async def logs_nothing(client: Client) -> None:
    """Force a full log search without results."""

    def body() -> bytes:
        topic = "0x" + client.draw.randbytes(32).hex()
        return call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest", "topics": [topic, None, topic]})

    await client.calls(body)


@pattern("logs-addresses", "eth_getLogs with 1,000 addresses and 4,000 topics")
async def logs_addresses(client: Client) -> None:
    """Force log matching with long address and topic lists."""
    addresses = [f"0x{number:040x}" for number in range(999)] + ["0x" + LOGGER.hex()]
    topics = [[f"0x{number + turn:064x}" for number in range(1000)] for turn in range(4)]
    await _repeated(
        client, "eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest", "address": addresses, "topics": topics}
    )


@pattern("logs-pages", "foreseal_getLogs page by page from the beginning")
async def logs_pages(client: Client) -> None:
    """Force log searches by cursor."""
    await _repeated(client, "foreseal_getLogs", {"filter": {"fromBlock": "0x0"}, "limit": "0x1388"})


@pattern("proofs", "eth_getProof of 128 random slots, other ones each time")
async def proofs(client: Client) -> None:
    """Force trie traversals by proofs."""

    def body() -> bytes:
        slots = [hex(client.draw.randrange(STORED_SLOTS * 2)) for _ in range(_SLOTS)]
        return call("eth_getProof", _CONTRACT, slots, "latest")

    await client.calls(body)


@pattern("proofs-beyond", "eth_getProof of 1,024 slots, beyond the public limit")
async def proofs_beyond(client: Client) -> None:
    """Force the rejection of large requests."""
    await _repeated(client, "eth_getProof", _CONTRACT, [hex(slot) for slot in range(1024)], "latest")


@pattern("storage-values", "eth_getStorageValues of 128 random slots")
async def storage_values(client: Client) -> None:
    """Force reads of state."""

    def body() -> bytes:
        slots = [f"0x{client.draw.randrange(STORED_SLOTS * 2):064x}" for _ in range(_SLOTS)]
        return call("eth_getStorageValues", {_CONTRACT: slots}, "latest")

    await client.calls(body)


@pattern("fee-history", "eth_feeHistory of 1,024 blocks with 100 percentiles")
async def fee_history(client: Client) -> None:
    """Force reads of many blocks."""
    await _repeated(client, "eth_feeHistory", "0x400", "latest", list(range(100)))


@pattern("flashblocks", "foreseal_getFlashblocks from near the beginning, as many as allowed")
async def flashblocks(client: Client) -> None:
    """Force reads of the journal."""
    await _repeated(client, "foreseal_getFlashblocks", client.facts.cursor, "0x100")


@pattern("preconfirmations", "foreseal_preconfirmation of one transaction over and over")
async def preconfirmations(client: Client) -> None:
    """Force proofs and signatures."""
    await _repeated(client, "foreseal_preconfirmation", client.facts.traced_transaction)


@pattern("random-hashes", "transactions, receipts and blocks by random hashes")
async def random_hashes(client: Client) -> None:
    """Force lookups that find nothing."""
    methods = [
        "eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getBlockByHash", "foreseal_transactionStatus",
        "foreseal_preconfirmation", "debug_getRawTransaction",
    ]  # fmt: skip

    def body() -> bytes:
        method = client.draw.choice(methods)
        params: list[object] = ["0x" + client.draw.randbytes(32).hex()]
        return call(method, *params, *([True] if method == "eth_getBlockByHash" else []))

    await client.calls(body)


@pattern("cold-reads", "balances, codes and slots of random accounts at random old blocks")
async def cold_reads(client: Client) -> None:
    """Defeat caches with random historical reads."""
    newest = int(client.facts.traced_block, 16)

    def body() -> bytes:
        block = hex(client.draw.randrange(newest + 1))
        address = client.draw.choice([_CONTRACT, "0x" + client.draw.randbytes(20).hex()])
        if client.draw.random() < 0.5:
            return call("eth_getStorageAt", address, hex(client.draw.randrange(STORED_SLOTS * 2)), block)
        return call(client.draw.choice(["eth_getBalance", "eth_getCode"]), address, block)

    await client.calls(body)


@pattern("old-blocks", "whole old blocks at random, with full transactions")
async def old_blocks(client: Client) -> None:
    """Defeat the block cache."""
    newest = int(client.facts.traced_block, 16)
    await client.calls(lambda: call("eth_getBlockByNumber", hex(client.draw.randrange(newest + 1)), True))


@pattern("discover", "rpc.discover without pause, 16 connections an address")
async def discover(client: Client) -> None:
    """Request a large document in a loop."""
    await _repeated(client, "rpc.discover")


@pattern("pool-content", "txpool_content and txpool_inspect next to a pool that fills")
async def pool_content(client: Client) -> None:
    """Force the serialization of the whole pool."""

    async def fill(connection: Connection) -> None:
        for nonce in client.ticks():
            account = client.accounts[nonce % len(client.accounts)]
            # A gap at nonce 0 keeps them queued.
            signed = account.sign(1 + nonce // len(client.accounts))
            client.note(await connection.post(call("eth_sendRawTransaction", signed.raw)))
            await asyncio.sleep(0.01)

    methods = ["txpool_content", "txpool_inspect"]
    await asyncio.gather(client.lanes(1, fill), client.calls(lambda: call(client.draw.choice(methods)), LANES - 1))


@pattern("filter-churn", "filters made and removed without pause")
async def filter_churn(client: Client) -> None:
    """Force the creation and removal of filters."""

    async def act(connection: Connection) -> None:
        for _ in client.ticks():
            response = await connection.post(call("eth_newFilter", {"fromBlock": "0x0"}))
            client.note(response)
            if response.status == 200 and "result" in response.json():
                await connection.post(call("eth_uninstallFilter", response.json()["result"]))
            else:
                await asyncio.sleep(0.01)

    await client.lanes(LANES, act)


@pattern("filter-hoard", "filters that are made and never removed")
async def filter_hoard(client: Client) -> None:
    """Exhaust the global filter limit."""
    methods = ["eth_newBlockFilter", "eth_newPendingTransactionFilter"]
    await client.calls(lambda: call(client.draw.choice(methods)))


@pattern("filter-polls", "eth_getFilterLogs of a filter over all blocks")
async def filter_polls(client: Client) -> None:
    """Force log searches through filter polls."""

    async def act(connection: Connection) -> None:
        response = await connection.post(call("eth_newFilter", {"fromBlock": "0x0", "toBlock": "latest"}))
        body = call("eth_getFilterLogs", response.json().get("result", "0x1"))
        for _ in client.ticks():
            client.note(await connection.post(body))

    await client.lanes(LANES, act)
