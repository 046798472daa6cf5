"""N1, N2, N3, N6: what a transaction leaves is larger than the pipes of those who read it."""

import asyncio
import contextlib
import json
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hostile.build import TRANSPORTS, environment
from hostile.chain import Chain
from hostile.chain_data import GENERATORS
from hostile.findings import trials
from hostile.findings.finding import Bench
from hostile.findings.trials import Case, measure_case
from hostile.signing import accounts
from hostile.wire import CLOSE, TEXT, Connection, call, frame
from live.blocks import wait_for
from live.process import LiveNode
from live.rpc import Rpc, RpcFailure

BURST = 20
_FOLLOWERS = 7
_PASS_TIME = 120.0
"""Seconds after the burst in which followers may reach the newest step."""
_RECEIPT_TIME = 120.0
_STREAM_TIME = 20.0
_LIMITED = -32005
_READ_TIME = 60.0
_LOGS = 41_727
"""Logs of a transaction of finding N1."""


def patient(rpc: Rpc, method: str, *params: Any) -> Any:
    """Return the result of a call. Retry while the rate of the address, which pages share, is exceeded."""

    def attempt() -> list[Any] | None:
        try:
            return [rpc(method, *params)]
        except RpcFailure as failure:
            if failure.code != _LIMITED:
                raise
            time.sleep(0.1)
            return None

    return wait_for(attempt, _RECEIPT_TIME, f"result of {method}")[0]


def submit_burst(rpc: Rpc, count: int = BURST, name: str = "logs-n1") -> list[str]:
    """Submit transactions of a generator at once, by default those of finding N1; return their hashes."""
    generator, draw = GENERATORS[name], random.Random(1)
    (account,) = accounts("hostile", 1)
    first = int(patient(rpc, "eth_getTransactionCount", account.address, "pending"), 16)
    signed = [generator.sign(account, nonce, draw) for nonce in range(first, first + count)]
    return [patient(rpc, "eth_sendRawTransaction", each.raw) for each in signed]


def followers(bench: Bench) -> None:
    """N1: a burst of transactions of 41,700 logs, and followers on the client of the build."""
    with bench.node(keys=3) as (chain, node):
        cursor = node.rpc("foreseal_getFlashblocks")["cursor"]
        with _readers(bench, chain, cursor) as seen:
            submit_burst(node.rpc)
            last = wait_for_burst(node)
            begin = time.monotonic()
            passed: dict[int, float] = {}
            while time.monotonic() - begin < _PASS_TIME and len(passed) < _FOLLOWERS:
                for number, (block, _) in seen.items():
                    if block > last and number not in passed:
                        passed[number] = time.monotonic() - begin
                time.sleep(0.1)
        slowest = f" (the last after {max(passed.values()):.0f} s)" if passed else ""
        connections = max((count for _, count in seen.values()), default=0)
        measured = f"{len(passed)} of {_FOLLOWERS} followers passed the steps of {BURST} transactions{slowest}, "
        measured += f"{connections} connections of one"
        bench.add("N1", "followers on the client of the build", measured, is_open=len(passed) < _FOLLOWERS)
    for name, pattern in (("with a key", "follow-key"), ("without a key", "follow-public")):
        measure_case(bench, Case("N1", f"one follower {name} that reconnects at a burst", pattern, trials.delays))


def wait_for_burst(node: LiveNode, count: int = BURST) -> int:
    """Wait until a burst is in sealed blocks; return the newest one."""
    (account,) = accounts("hostile", 1)
    with contextlib.closing(Rpc(node.url)) as rpc:
        end = time.monotonic() + _RECEIPT_TIME
        while int(patient(rpc, "eth_getTransactionCount", account.address, "latest"), 16) < count:
            if time.monotonic() > end:
                raise TimeoutError(f"a burst was not sealed within {_RECEIPT_TIME:.0f} s")
            time.sleep(0.2)
        return int(patient(rpc, "eth_blockNumber"), 16)


@contextlib.contextmanager
def _readers(bench: Bench, chain: Chain, cursor: dict[str, Any]) -> Iterator[dict[int, tuple[int, int]]]:
    """Run followers, three with a key each; yield the newest block and the connections of each."""
    seen: dict[int, tuple[int, int]] = {}
    python = bench.build.executable.absolute().with_name("python")
    script = Path(__file__).with_name("feed_reader.py")
    processes = []
    for number in range(_FOLLOWERS):
        key = chain.facts.keys[number] if number < len(chain.facts.keys) else ""
        command = [str(python), str(script), f"ws://127.0.0.1:{chain.facts.port}", json.dumps(cursor), key]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment()
        )
        processes.append(process)
        threading.Thread(target=_collect, args=(process, number, seen), daemon=True).start()
    try:
        yield seen
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _collect(process: "subprocess.Popen[str]", number: int, seen: dict[int, tuple[int, int]]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        block, connections = line.split()
        seen[number] = (int(block), int(connections))


def receipts(bench: Bench) -> None:
    """N2: reads of one receipt of 16 MB from one and from five addresses."""
    for addresses in (1, 5):
        case = Case("N2", f"{addresses} addresses read a receipt", "receipt-reads", trials.delays, addresses)
        measure_case(bench, case)


def memory(bench: Bench) -> None:
    """N3: 12 transactions of 41,700 logs a second, in one process and with two workers."""
    for name, options in (("one process", ()), ("two workers", ("--workers", "2"))):
        case = Case("N3", name, "stream-logs", trials.memory, options=options, seconds=_STREAM_TIME)
        measure_case(bench, case)


def pending_logs(bench: Bench) -> None:
    """N6: steps with more than 4,096 logs, and readers of all pending logs that read at once."""
    for transport, count in ((transport, count) for transport in TRANSPORTS for count in (1, 4)):
        with bench.node(*bench.build.transport_options(transport)) as (chain, node):
            outcomes = asyncio.run(_read_pending(chain, node, count))
        expected = _LOGS * count
        complete = sum(1 for seen, _ in outcomes if seen >= expected)
        reasons = sorted({reason for _, reason in outcomes if reason})
        measured = f"{complete} of {len(outcomes)} readers got all logs; counts {[seen for seen, _ in outcomes]}"
        measured += f"; {', '.join(reasons)}" if reasons else ""
        case = f"{transport}, pendingLogs of {count} transactions of 41,700 logs"
        bench.add("N6", case, measured, is_open=complete < len(outcomes))


async def _read_pending(chain: Chain, node: LiveNode, count: int) -> list[tuple[int, str]]:
    connections = []
    for _ in range(3):
        connection = await Connection.open(chain.facts.port, "127.0.1.1")
        await connection.upgrade()
        connection.send(frame(TEXT, call("eth_subscribe", "pendingLogs", {})))
        await connection.frame()
        connections.append(connection)
    reading = [asyncio.create_task(_count(connection, _LOGS * count)) for connection in connections]
    await asyncio.to_thread(submit_burst, node.rpc, count)
    return list(await asyncio.gather(*reading))


async def _count(connection: Connection, expected: int) -> tuple[int, str]:
    """Count notifications until all have arrived, the server closes or the time is over."""
    count, reason = 0, ""
    with contextlib.suppress(TimeoutError, asyncio.IncompleteReadError, OSError):
        async with asyncio.timeout(_READ_TIME):
            while count < expected:
                kind, payload = await connection.frame()
                if kind == CLOSE:
                    reason = f"closed with {int.from_bytes(payload[:2])} {payload[2:].decode(errors='replace')}"
                    break
                count += kind == TEXT
    connection.close()
    return count, reason
