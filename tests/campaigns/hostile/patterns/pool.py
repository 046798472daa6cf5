"""Submissions that load the pool and the builder."""

import asyncio
import itertools
from collections.abc import Callable

from hostile.client import LANES, Client
from hostile.facts import LOGGER, TRACED
from hostile.patterns.registry import pattern
from hostile.signing import CHAIN_ID, DEFAULT_FEES, GWEI, Account, Fees, Transaction
from hostile.wire import Connection, call

_FIELDS_OF_BLOBS = [CHAIN_ID, 0, GWEI, 10 * GWEI, 21_000, b"\0" * 20, 0, b"", [], GWEI, [b"\x01" + b"\0" * 31]]
_MAX_ACCOUNTS = 4
"""Accounts of one connection."""
Made = Callable[[Account, int], Transaction]


async def _submit(client: Client, made: Made, lanes: int = LANES, *, method: str = "eth_sendRawTransaction") -> None:
    """Submit from each account of the address in rotation, with rising nonces."""
    share = min(max(len(client.accounts) // lanes, 1), _MAX_ACCOUNTS)
    numbers = itertools.count()

    async def act(connection: Connection) -> None:
        lane = next(numbers) * share % len(client.accounts)
        own = client.accounts[lane : lane + share]
        nonces: dict[str, int] = {}
        for turn in client.ticks():
            account = own[turn % len(own)]
            if account.address not in nonces:
                nonces[account.address] = await _nonce(client, connection, account)
            response = await connection.post(call(method, made(account, nonces[account.address]).raw))
            client.note(response)
            if response.status != 200:
                await asyncio.sleep(0.01)
            elif "result" in response.json():
                nonces[account.address] += 1

    await client.lanes(lanes, act)


async def _nonce(client: Client, connection: Connection, account: Account) -> int:
    """Return the account's next nonce; retry when rate-limited."""
    body = call("eth_getTransactionCount", account.address, "pending")
    for _ in client.ticks():
        response = await connection.post(body)
        if response.status == 200:
            return int(response.json()["result"], 16)
        await asyncio.sleep(0.05)
    return 0


@pattern("pool-transfers", "valid cheap transactions of many senders at the rate of an address")
async def transfers(client: Client) -> None:
    """Fill blocks with transfers."""
    await _submit(client, lambda account, nonce: account.sign(nonce))


@pattern("pool-gas", "valid transactions that use 12 million gas each")
async def gas(client: Client) -> None:
    """Load the builder with expensive executions."""
    await _submit(client, lambda account, nonce: account.sign(nonce, to=TRACED, gas=12_000_000))


@pattern("pool-logs", "valid transactions with 200 logs each")
async def logs(client: Client) -> None:
    """Load receipts, indexes and subscribers with logs."""
    await _submit(client, lambda account, nonce: account.sign(nonce, to=LOGGER, gas=600_000))


@pattern("pool-large", "valid transactions of 120 KB")
async def large(client: Client) -> None:
    """Use memory and journal space with large transactions."""
    data = b"\x01" * 120_000
    await _submit(client, lambda account, nonce: account.sign(nonce, gas=6_000_000, data=data), 4)


@pattern("pool-replacements", "replacements of one queued transaction by higher fees")
async def replacements(client: Client) -> None:
    """Force validation by replacements, without pool growth."""
    prices = itertools.count(10)

    def made(account: Account, nonce: int) -> Transaction:
        tip = next(prices) * GWEI
        # A nonce ahead of the account's nonce keeps it queued.
        return account.sign(10_000, fees=Fees(tip * 10, tip))

    await _submit(client, made)


@pattern("pool-gaps", "nonce gaps: transactions that can never run")
async def gaps(client: Client) -> None:
    """Fill the queue with nonce gaps."""
    await _submit(client, lambda account, nonce: account.sign(20_000 + client.draw.randrange(1 << 30)))


@pattern("pool-underfunded", "transactions of accounts without a balance")
async def underfunded(client: Client) -> None:
    """Force one signature recovery each by accounts without funds."""
    strangers = [Account(f"stranger-{client.number}-{number}") for number in range(64)]
    await _submit(client, lambda account, nonce: client.draw.choice(strangers).sign(0))


@pattern("pool-low-fees", "transactions below the base fee")
async def low_fees(client: Client) -> None:
    """Fill the queue with transactions that are never profitable."""
    await _submit(client, lambda account, nonce: account.sign(nonce, fees=Fees(1, 1)))


@pattern("pool-bad-signatures", "transactions whose signature recovers to a random account")
async def bad_signatures(client: Client) -> None:
    """Force one signature recovery each by invalid signatures."""

    def made(account: Account, nonce: int) -> Transaction:
        raw = bytearray.fromhex(account.sign(nonce).raw[2:])
        raw[-40] ^= 1 + client.draw.randrange(255)
        return Transaction("0x" + raw.hex(), "")

    await _submit(client, made)


@pattern("pool-garbage", "random bytes as transactions, up to 100 KB")
async def garbage(client: Client) -> None:
    """Force the decoding of garbage."""

    def made(account: Account, nonce: int) -> Transaction:
        return Transaction("0x02" + client.draw.randbytes(client.draw.randrange(100_000)).hex(), "")

    await _submit(client, made)


@pattern("pool-blobs", "blob transactions with a proof that is none")
async def blobs(client: Client) -> None:
    """Force the verification of blobs."""

    def made(account: Account, nonce: int) -> Transaction:
        fields = list(_FIELDS_OF_BLOBS)
        fields[1] = nonce
        return account.sign_typed(3, fields)

    await _submit(client, made)


@pattern("sync-gaps", "eth_sendRawTransactionSync with nonce gaps, waiting as long as allowed")
async def sync_gaps(client: Client) -> None:
    """Occupy waiting calls with nonce gaps."""

    async def act(connection: Connection) -> None:
        for _ in client.ticks():
            account = client.draw.choice(client.accounts)
            signed = account.sign(30_000 + client.draw.randrange(1 << 30))
            client.note(await connection.post(call("eth_sendRawTransactionSync", signed.raw, 10_000)))

    await client.lanes(64, act)


@pattern("sync-gas", "eth_sendRawTransactionSync of 12 million gas each, 64 waits an address")
async def sync_gas(client: Client) -> None:
    """Occupy waiting calls until blocks have room."""
    method = "eth_sendRawTransactionSync"
    await _submit(client, lambda account, nonce: account.sign(nonce, to=TRACED, gas=12_000_000), 64, method=method)


@pattern("pool-duplicates", "the same transaction over and over")
async def duplicates(client: Client) -> None:
    """Force lookups and signature recoveries by duplicates."""
    signed = client.accounts[0].sign(40_000, fees=DEFAULT_FEES)
    await client.calls(lambda: call("eth_sendRawTransaction", signed.raw))
