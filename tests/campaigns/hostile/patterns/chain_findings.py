"""The attacks of findings N1 to N5, N12 and N13, each alone."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace

from hostile.chain_data import BLOCK_GAS, GENERATORS
from hostile.chain_data.blobs import GENERATOR as WRONG_PROOF
from hostile.chain_data.blobs import sign_blobs
from hostile.chain_data.precompiles import blake2f_input
from hostile.client import Client, discard
from hostile.patterns.chain_data import Submissions, sender_of
from hostile.patterns.registry import register
from hostile.signing import Account, Fees, Transaction
from hostile.wire import TEXT, Connection, call, frame

GROUP = "chain-findings"
BURST = 20
"""Transactions of a burst of finding N1."""
_READS, _CALLS = 8, 16
_STREAM_SECONDS = 1 / 12
_ROUNDS = 49_000_000
_SENDERS, _QUEUED = 47, 6
_IN_BLOCK, _IN_REST = 24, 5
_REST = (4_000_000, 1_000_000, 250_000, 60_000, 25_000)
"""Gas of smaller transactions, of which five senders each fill the rest of a block."""
LOW_CAP = Fees(1_000, 1_000)
"""Fee cap of finding N12: blocks are full as long as the base fee is below it."""
LOW_TIP = Fees(10**9, 1_000_001)
"""The lowest tip that a public node accepts."""
_LOGS = GENERATORS["logs-n1"]
Signer = Callable[[Account, int], Transaction]


async def submit_burst(client: Client, count: int = BURST) -> None:
    """Submit transactions of finding N1 at once."""
    sender = sender_of(client)
    connection = await sender.connect()
    account = sender.accounts[0]
    begin = await Submissions(sender, _LOGS).nonce(connection, account)
    for nonce in range(begin, begin + count):
        signed = _LOGS.sign(account, nonce, sender.draw)
        await Submissions(sender, _LOGS).submit(connection, signed)
    connection.close()


async def stream(client: Client, sign: Signer, interval: float, senders: int = 4) -> None:
    """Submit at a rate from accounts in turn, with rising nonces."""

    async def act(connection: Connection) -> None:
        own = client.accounts[:senders]
        nonces = [await Submissions(client, _LOGS).nonce(connection, account) for account in own]
        begin = asyncio.get_running_loop().time()
        for number in client.ticks():
            turn = number % len(own)
            response = await connection.post(call("eth_sendRawTransaction", sign(own[turn], nonces[turn]).raw))
            client.note(response)
            if response.status == 200 and "result" in response.json():
                nonces[turn] += 1
            await asyncio.sleep(begin + (number + 1) * interval - asyncio.get_running_loop().time())

    await client.lanes(1, act)


async def _follow(client: Client, key: str | None) -> None:
    async def act(connection: Connection) -> None:
        if await connection.upgrade(*([f"Authorization: Bearer {key}"] if key else [])) == 101:
            connection.send(frame(TEXT, call("eth_subscribe", "foreseal_feed", client.facts.cursor)))
            await discard(connection)

    async def repeat(connection: Connection) -> None:
        # A client without progress reconnects at the same cursor.
        await asyncio.wait_for(act(connection), 2.0)

    await asyncio.gather(submit_burst(client), client.lanes(1, repeat))


async def follow_with_key(client: Client) -> None:
    """Follow with a key from an early cursor, next to a burst."""
    await _follow(client, client.facts.keys[-1])


async def follow_without_key(client: Client) -> None:
    """Follow without a key from an early cursor, next to a burst."""
    await _follow(client, None)


async def read_receipt(client: Client) -> None:
    """Read one receipt of 41,700 logs on eight connections."""
    sender = sender_of(client)
    submissions = Submissions(sender, _LOGS)

    async def read(connection: Connection) -> None:
        for _ in client.ticks():
            body = call("eth_getTransactionReceipt", submissions.digest or "0x" + "00" * 32)
            response = await connection.post(body)
            client.note(response)
            await asyncio.sleep(0 if response.status == 200 and submissions.digest else 0.02)

    async def submit_one(connection: Connection) -> None:
        nonce = await submissions.nonce(connection, sender.accounts[0])
        signed = _LOGS.sign(sender.accounts[0], nonce, sender.draw)
        await submissions.submit(connection, signed)
        while submissions.digest is None and any(sender.ticks()):
            await submissions.find(connection, signed.hash)
        await asyncio.sleep(600)

    await asyncio.gather(sender.lanes(1, submit_one), client.lanes(_READS, read))


async def stream_logs(client: Client) -> None:
    """Submit twelve transactions of 41,700 logs a second."""
    await stream(client, lambda account, nonce: _LOGS.sign(account, nonce, client.draw), _STREAM_SECONDS)


async def stream_p256(client: Client) -> None:
    """Submit two transactions a second that loop over P256VERIFY."""
    verify = GENERATORS["p256verify"]
    await stream(client, lambda account, nonce: verify.sign(account, nonce, client.draw), 0.5)


async def call_blake2f(client: Client) -> None:
    """Call BLAKE2b of 49 million rounds on sixteen connections."""
    called = {"to": f"0x{9:040x}", "gas": hex(50_000_000), "data": "0x" + blake2f_input(_ROUNDS).hex()}
    body = call("eth_call", called, "latest")
    await client.calls(lambda: body, _CALLS)


async def _fill(client: Client, fees: Fees) -> None:
    """Queue transactions of many senders that burn all gas in no time; small ones use what large ones leave."""
    burn = GENERATORS["invalid"]
    sizes = [BLOCK_GAS // _IN_BLOCK] * _SENDERS + [size for size in _REST for _ in range(_IN_REST)]
    queue = list(itertools.product(range(_QUEUED), zip(client.accounts, sizes, strict=False)))

    async def act(connection: Connection) -> None:
        while queue:
            nonce, (account, gas) = queue.pop(0)
            signed = replace(burn, gas=gas).sign(account, nonce, client.draw, fees)
            await Submissions(client, burn).submit(connection, signed)
        await asyncio.sleep(600)

    await client.lanes(4, act)


async def fill_with_low_cap(client: Client) -> None:
    """Fill blocks for a fee cap of 1,000 wei."""
    await _fill(client, LOW_CAP)


async def fill_with_low_tip(client: Client) -> None:
    """Fill blocks for the lowest tip of a public node."""
    await _fill(client, LOW_TIP)


async def _strangers(client: Client, sign: Signer) -> None:
    """Submit transactions of accounts without a balance; all are signed before the first is sent."""
    accounts = [Account(f"stranger-{client.number}-{number}") for number in range(8)]
    bodies = itertools.cycle([call("eth_sendRawTransaction", sign(account, 0).raw) for account in accounts])
    await client.calls(lambda: next(bodies), 4)


async def wrong_proofs(client: Client) -> None:
    """Submit blobs of which the last proof is wrong."""
    await _strangers(client, lambda account, nonce: sign_blobs(account, nonce, proof=WRONG_PROOF))


async def junk_authorizations(client: Client) -> None:
    """Submit lists of authorizations with random signatures."""
    lists = GENERATORS["authorizations"]
    await _strangers(client, lambda account, nonce: lists.sign(account, nonce, client.draw))


_ATTACKS: tuple[tuple[str, str, Callable[[Client], Awaitable[None]]], ...] = (
    ("follow-key", "a follower with a key that reconnects at a burst of large steps (N1)", follow_with_key),
    ("follow-public", "a public follower that reconnects at a burst of large steps (N1)", follow_without_key),
    ("receipt-reads", "reads of one receipt of 16 MB on 8 connections (N2)", read_receipt),
    ("stream-logs", "12 transactions of 41,700 logs a second (N3)", stream_logs),
    ("stream-p256", "2 transactions a second that loop over P256VERIFY (N4)", stream_p256),
    ("call-blake2f", "eth_call of one BLAKE2b of 49 million rounds, 16 at a time (N5)", call_blake2f),
    ("fill-low-cap", "blocks full of burnt gas for 1,000 wei a gas (N12)", fill_with_low_cap),
    ("fill-low-tip", "blocks full of burnt gas for the lowest tip of a public node (N12)", fill_with_low_tip),
    ("blob-proofs", "blobs with one wrong proof of senders without funds (N13)", wrong_proofs),
    ("junk-authorizations", "660 random authorizations of senders without funds (N13)", junk_authorizations),
)
for _name, _description, _attack in _ATTACKS:
    register(_name, _description, _attack, group=GROUP)
