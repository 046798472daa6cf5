"""JSON-RPC envelopes: batches, bodies that are not requests, and continuous rejections."""

import orjson

from hostile import bytecode
from hostile.client import LANES, Client
from hostile.patterns.execution import overridden
from hostile.patterns.registry import pattern
from hostile.wire import Connection, call, head

_LARGEST = 2_000_000
_BATCH = 100
"""Entries that a public caller may have in one batch."""


async def _same(client: Client, body: bytes, lanes: int = LANES) -> None:
    await client.calls(lambda: body, lanes)


@pattern("batch-heavy", "batches of 100 hash loops")
async def batch_heavy(client: Client) -> None:
    """Cause many expensive calls by one request."""
    await _same(client, b"[" + b",".join([overridden(bytecode.KECCAK_LOOP)] * _BATCH) + b"]")


@pattern("batch-mixed", "batches of the costliest legal calls of every kind")
async def batch_mixed(client: Client) -> None:
    """Occupy several queues by one request."""
    block, traced = client.facts.logged_block, client.facts.traced_transaction
    kinds = [
        overridden(bytecode.modexp_loop()), call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"}),
        call("debug_traceTransaction", traced), call("eth_getLogs", {"fromBlock": block, "toBlock": block}),
        call("eth_feeHistory", "0x400", "latest", [50]), call("txpool_content"), call("rpc.discover"),
        call("eth_getBlockByNumber", client.facts.traced_block, True),
    ]  # fmt: skip
    await _same(client, b"[" + b",".join(kinds * (_BATCH // len(kinds))) + b"]")


@pattern("batch-cheap", "batches of 100 cheap calls")
async def batch_cheap(client: Client) -> None:
    """Load the event loop with batches of cheap calls."""
    await _same(client, b"[" + b",".join([call("eth_blockNumber")] * _BATCH) + b"]")


@pattern("batch-thousand", "batches of 1,000 cheap calls, beyond the public limit")
async def batch_thousand(client: Client) -> None:
    """Force the rejection of large requests."""
    await _same(client, b"[" + b",".join([call("eth_blockNumber")] * 1000) + b"]")


@pattern("batch-notifications", "batches of notifications, which have no answer")
async def batch_notifications(client: Client) -> None:
    """Cause calls whose responses are never sent."""
    body = orjson.dumps([{"jsonrpc": "2.0", "method": "eth_getLogs", "params": [{"fromBlock": "0x0"}]}] * _BATCH)
    await _same(client, body)


@pattern("bad-json", "2 MB that are almost JSON")
async def bad_json(client: Client) -> None:
    """Load the JSON parser with invalid documents."""
    await _same(
        client, b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[' + b'"0x00",' * (_LARGEST // 7) + b"]}", 4
    )


@pattern("many-arrays", "2 MB of empty arrays: a parser makes each of them")
async def many_arrays(client: Client) -> None:
    """Block the event loop with one large parse."""
    await _same(client, b"[" + b"[]," * (_LARGEST // 3 - 1) + b"[]]", 32)


@pattern("small-arrays", "60 KB of empty arrays, within all limits")
async def small_arrays(client: Client) -> None:
    """Cause parses that no earlier limit rejects."""
    await _same(client, b"[" + b"[]," * 20_000 + b"[]]", 32)


@pattern("deep-json", "arrays nested a million deep")
async def deep_json(client: Client) -> None:
    """Exhaust the parser's stack."""
    await _same(client, b"[" * (_LARGEST // 2), 4)


@pattern("long-strings", "a method name of 2 MB")
async def long_strings(client: Client) -> None:
    """Force copies of long strings."""
    await _same(client, call("m" * (_LARGEST - 100)), 4)


@pattern("long-numbers", "an id of a million digits")
async def long_numbers(client: Client) -> None:
    """Load the number parser."""
    await _same(client, b'{"jsonrpc":"2.0","id":' + b"9" * 1_000_000 + b',"method":"eth_blockNumber","params":[]}', 4)


@pattern("many-params", "300,000 params")
async def many_params(client: Client) -> None:
    """Force the allocation of many objects."""
    await _same(client, call("eth_blockNumber", *range(300_000)), 4)


@pattern("many-members", "an object of 100,000 members")
async def many_members(client: Client) -> None:
    """Force large hash tables."""
    await _same(client, call("eth_call", {f"member{number}": number for number in range(100_000)}), 4)


@pattern("unknown-methods", "methods that do not exist, another one each time")
async def unknown_methods(client: Client) -> None:
    """Fill caches that are keyed by method."""
    await client.calls(lambda: call(f"eth_{client.draw.randbytes(20).hex()}"))


@pattern("wrong-keys", "wrong API keys without pause (S12)")
async def wrong_keys(client: Client) -> None:
    """Force key hashes and rejections."""
    body = call("eth_blockNumber")

    async def act(connection: Connection) -> None:
        for _ in client.ticks():
            client.note(
                await connection.post(body, f"fs_{client.draw.randbytes(5).hex()}_{client.draw.randbytes(32).hex()}")
            )

    await client.lanes(LANES, act, retry=0.0)


@pattern("over-rate", "cheap calls far beyond the rate, without a pause after a refusal")
async def over_rate(client: Client) -> None:
    """Force rejections by the rate limiter."""
    body = call("eth_blockNumber")
    await client.calls(lambda: body, backoff=0.0)


@pattern("over-rate-large", "2 MB bodies far beyond the rate")
async def over_rate_large(client: Client) -> None:
    """Send large bodies that are rejected only once they are complete."""
    body = call("eth_call", {"to": "0x" + "00" * 20, "data": "0x" + "00" * 990_000})
    await client.calls(lambda: body, 8, backoff=0.0)


@pattern("forwarded", "X-Forwarded-For with another address each time")
async def forwarded(client: Client) -> None:
    """Impersonate many callers by forwarded addresses."""
    body = call("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"})

    async def act(connection: Connection) -> None:
        for _ in client.ticks():
            address = ".".join(str(client.draw.randrange(1, 255)) for _ in range(4))
            connection.send(head(len(body), None, f"X-Forwarded-For: {address}") + body)
            client.note(await connection.response())

    await client.lanes(LANES, act)
