"""How long a transaction takes from its submission until a reader sees it pre-confirmed, at a steady rate."""

import argparse
import asyncio
import json
import time
from pathlib import Path

import orjson
import uvloop
from benches.load.__main__ import served
from benches.load.client import http_request
from benches.origin import origin
from eth_account import Account

from foreseal._core import derive_accounts

RESULT = Path(__file__).parents[1] / "results" / "visible.json"
MNEMONIC = "test test test test test test test test test test test junk"
CHAIN_ID, ACCOUNTS, STEP_MS, SLACK_MS = 31337, 20, 200, 20
GWEI = 10**9
# Seconds between looks at the pending block: the resolution of the figures.
LOOK = 0.004


class Caller:
    """One keep-alive connection, one call at a time."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> "Caller":
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def call(self, method: str, *params: object) -> object:
        """The result of a call. Raises RuntimeError on an error."""
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._writer.write(http_request(self._port, body))
        head = await self._reader.readuntil(b"\r\n\r\n")
        at = head.lower().index(b"content-length: ") + len(b"content-length: ")
        length = int(head[at : head.index(b"\r", at)])
        answer = orjson.loads(await self._reader.readexactly(length))
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]


def signed(count: int) -> list[str]:
    """Raw transfers, one account after the other, each with its next nonce."""
    keys = [key for _, key in derive_accounts(MNEMONIC, ACCOUNTS)]
    fields = {"to": bytes.fromhex("ee" * 20), "value": 1, "gas": 21000, "chainId": CHAIN_ID}
    fees = {"maxFeePerGas": 20 * GWEI, "maxPriorityFeePerGas": GWEI}
    raws = []
    for number in range(count):
        nonce, account = divmod(number, ACCOUNTS)
        transaction = Account.sign_transaction({**fields, **fees, "nonce": nonce}, keys[account])
        raws.append("0x" + transaction.raw_transaction.hex().removeprefix("0x"))
    return raws


async def watch(port: int, seen: dict[str, float], total: int) -> None:
    """Note when each transaction is first seen in the pending block."""
    caller = await Caller(port).open()
    while len(seen) < total:
        block = await caller.call("eth_getBlockByNumber", "pending", False)
        now = time.perf_counter()
        for transaction in block["transactions"]:  # type: ignore[index]
            seen.setdefault(transaction, now)
        await asyncio.sleep(LOOK)


async def submit(port: int, raws: list[str], rate: int, sent: dict[str, float]) -> None:
    """Send at `rate` a second over a few connections, each transaction at its own moment."""
    callers = [await Caller(port).open() for _ in range(ACCOUNTS)]
    locks = [asyncio.Lock() for _ in callers]
    start = time.perf_counter()

    async def one(number: int) -> None:
        await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
        lane = number % ACCOUNTS
        async with locks[lane]:
            at = time.perf_counter()
            sent[await callers[lane].call("eth_sendRawTransaction", raws[number])] = at  # type: ignore[index]

    await asyncio.gather(*(one(number) for number in range(len(raws))))


async def measure(port: int, raws: list[str], rate: int) -> list[float]:
    """Milliseconds from submission to visibility, ascending."""
    sent: dict[str, float] = {}
    seen: dict[str, float] = {}
    watcher = asyncio.create_task(watch(port, seen, len(raws)))
    await submit(port, raws, rate, sent)
    await asyncio.wait_for(watcher, 30)
    return sorted((seen[hash_] - at) * 1000 for hash_, at in sent.items())


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.load.visible", description=__doc__)
    parser.add_argument("--rate", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    raws = signed(options.rate * options.seconds)
    with served("-m", "foreseal", "dev", "--port", "0", "--step", f"{STEP_MS}ms") as node:
        latencies = uvloop.run(measure(node, raws, options.rate))
    p50, p99 = latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]
    target = STEP_MS + SLACK_MS
    print(f"{len(latencies)} transactions at {options.rate}/s: p50 {p50:.0f} ms, p99 {p99:.0f} ms, target {target} ms")
    command = f"python -m benches.load.visible --rate {options.rate} --seconds {options.seconds}"
    figures = {"p50_ms": round(p50, 1), "p99_ms": round(p99, 1), "max_ms": round(latencies[-1], 1)}
    report = origin(command, ("granian", "orjson", "uvloop")) | {
        "transactions": len(latencies),
        "rate_per_second": options.rate,
        "step_ms": STEP_MS,
        **figures,
        "target_p99_ms": target,
        "reached": p99 <= target,
    }
    RESULT.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
