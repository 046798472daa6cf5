"""A node under load and three readers of its feed, with failing connections, kills and reorganizations."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from foreseal.client import Backoff, Cursor, Options
from live import LiveNode, Rpc, RpcFailure
from live.process import command_with
from readers.journal import Blocks, chain_in, compare_with_blocks, compare_with_journal, written_in
from readers.reader import Reader
from repository import PYTHONPATH
from traffic.clients import GONE
from traffic.proxy import CuttingProxy
from traffic.transfers import deploy_token

READERS = 3
# The queue of a paused reader overflows, so that it lags.
PRODUCTION = ("--block-time", "1s", "--step", "20ms")
VALUES = {"limits.outgoing_bytes": 500_000}
# Options of a reader: steps are 20 ms apart, so a second without any message means a dead connection.
OPTIONS = Options(timeout=10.0, heartbeat_timeout=1.0, backoff=Backoff(0.01, 0.5), attempts=1000)
# Mean number of bytes on a reader's connection before it is cut.
CUT_AFTER = 1_500_000
# Minimum and maximum seconds of a node's life, and between two reorganizations.
LIFE = (1.0, 6.0)
REORGANISED = (0.1, 0.7)
DEEPEST = 4
# Minimum number of kills and of reorganizations per run.
LEAST = 3
# Seconds for the readers to reach the end, once all faults have stopped.
END = 60.0


@dataclass
class Summary:
    """Counts and results of a campaign."""

    seed: int
    reorganized: bool
    events: int = 0
    """Steps, transactions and logs that the readers received, all readers together."""
    steps: int = 0
    undone: int = 0
    transactions: int = 0
    logs: int = 0
    sent: int = 0
    blocks: int = 0
    kills: int = 0
    cuts: int = 0
    connections: int = 0
    lags: int = 0
    reopened: int = 0
    """Number of restarts of a reader from its saved cursor."""
    reorganizations: dict[str, int] = field(default_factory=dict)
    """Reorganizations by method; those that the node rejected, or missed because it was killed, are separate."""
    seconds: int = 0
    journalled: int = 0
    """Steps of the journal that each reader was compared with."""
    faults: int = 0

    @property
    def gone_back(self) -> int:
        """Successful reorganizations."""
        return sum(count for kind, count in self.reorganizations.items() if kind != "refused")

    def __str__(self) -> str:
        return (
            f"{self.events} events over {READERS} connections (seed {self.seed}): {self.steps} steps, "
            f"{self.transactions} transactions, {self.logs} logs, {self.undone} steps undone; {self.blocks} blocks, "
            f"{self.seconds} s; {self.kills} kills of the node, {self.cuts} cuts at random bytes, {self.reopened} "
            f"readers begun anew from their cursor, {self.gone_back} reorganizations; {self.connections} connections, "
            f"{self.lags} lags; each reader compared with {self.journalled} steps of the journal and with the blocks "
            f"by RPC: {self.faults} faults"
        )


class Campaign:
    """One data directory, its node and its readers."""

    def __init__(self, datadir: Path, seed: int, *, reorganize: bool = False) -> None:
        self.summary = Summary(seed, reorganize)
        self.faults: list[str] = []
        self._rng = random.Random(seed)
        self._datadir = datadir
        self._command = [*command_with(VALUES), "dev", "--port", "0", *PRODUCTION, "--datadir", str(datadir)]
        self._node: LiveNode
        self._floor = 0
        self._readers: list[Reader] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._proxies: list[CuttingProxy] = []

    def run(self, events: int) -> Summary:
        """Run until the readers have received this many events, with enough kills; then compare."""
        begun = time.monotonic()
        self._node = LiveNode(self._command)
        try:
            asyncio.run(self._run(events))
        finally:
            if self._node.process.poll() is None:
                self._node.kill()
        summary = self.summary
        summary.seconds, summary.faults = round(time.monotonic() - begun), len(self.faults)
        return summary

    async def _run(self, events: int) -> None:
        token = await asyncio.to_thread(self._prepare)
        begin = Cursor(0, 0, self._node.rpc("eth_getBlockByNumber", "0x0", False)["hash"])
        # An additional one without cuts, so that the load finds the node again after a kill.
        for mean in [CUT_AFTER] * READERS + [None]:
            proxy = CuttingProxy(_port(self._node), random.Random(self._rng.getrandbits(32)), mean)
            await proxy.start()
            self._proxies.append(proxy)
        *cutting, steady = self._proxies
        for index, proxy in enumerate(cutting):
            rng = random.Random(self._rng.getrandbits(32))
            self._readers.append(Reader(f"reader {index}", f"ws://127.0.0.1:{proxy.port}", begin, rng, OPTIONS))
        self._tasks = [asyncio.create_task(reader.run()) for reader in self._readers]
        load = await _start_load(f"http://127.0.0.1:{steady.port}", token, self._rng.getrandbits(32))
        try:
            await self._disturb(events)
        finally:
            load.send_signal(signal.SIGTERM)
            printed, _ = await load.communicate()
        self.summary.sent = int(printed)
        await self._settle()
        for proxy in self._proxies:
            await proxy.stop()
        await asyncio.to_thread(self._compare, begin)
        self._count()

    def _prepare(self) -> str:
        """Deploy a token, in blocks that are never reorganized."""
        rpc = self._node.rpc
        token = deploy_token(rpc)
        rpc("evm_mine")
        self._floor = int(rpc("eth_blockNumber"), 16)
        return token

    async def _disturb(self, events: int) -> None:
        """Kill the node at random times, and replace its newest blocks, until enough events were received."""
        over = asyncio.Event()
        tasks = [asyncio.create_task(self._again(LIFE, over, self._kill))]
        if self.summary.reorganized:
            tasks.append(asyncio.create_task(self._again(REORGANISED, over, self._reorganize)))
        try:
            while not self._is_enough(events):
                done, _ = await asyncio.wait([*self._tasks, *tasks], timeout=0.1, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    # Only errors end them.
                    task.result()
        finally:
            # None is interrupted in the middle: the node runs at the end.
            over.set()
            await asyncio.gather(*tasks)

    def _is_enough(self, events: int) -> bool:
        return (
            sum(reader.events for reader in self._readers) >= events
            and self.summary.kills >= LEAST
            and (not self.summary.reorganized or self.summary.gone_back >= LEAST)
        )

    async def _again(
        self, seconds: tuple[float, float], over: asyncio.Event, work: Callable[[], Awaitable[None]]
    ) -> None:
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), self._rng.uniform(*seconds))
                return
            await work()

    async def _kill(self) -> None:
        self.summary.kills += 1
        await asyncio.to_thread(self._node.kill)
        self._node = await asyncio.to_thread(LiveNode, self._command)
        for proxy in self._proxies:
            proxy.target = _port(self._node)

    async def _reorganize(self) -> None:
        """Revert the chain by one of the methods of a development chain."""
        kind = self._rng.choice(("anvil_reorg", "anvil_rollback", "evm_revert"))
        depth = self._rng.randint(1, DEEPEST)
        try:
            await asyncio.to_thread(self._go_back, kind, depth)
        except (*GONE, RpcFailure):
            # The node was killed meanwhile, or the chain is too short.
            kind = "refused"
        done = self.summary.reorganizations
        done[kind] = done.get(kind, 0) + 1

    def _go_back(self, kind: str, depth: int) -> None:
        rpc = Rpc(self._node.url)
        # Reverted blocks are not empty, and the chain regains as many blocks as it loses.
        for _ in range(depth):
            rpc("evm_mine")
            time.sleep(0.04)
        if int(rpc("eth_blockNumber"), 16) - depth < self._floor:
            return
        if kind == "evm_revert":
            snapshot = rpc("evm_snapshot")
            time.sleep(0.04 * depth)
            rpc("evm_revert", snapshot)
        elif kind == "anvil_reorg":
            rpc("anvil_reorg", depth, [])
        else:
            rpc("anvil_rollback", depth)
        rpc.close()

    async def _settle(self) -> None:
        """Wait until the node is idle and every reader has reached its head."""
        for proxy in self._proxies:
            proxy.mean = None
        end = time.monotonic() + END
        while time.monotonic() < end:
            status = await asyncio.to_thread(self._node.rpc, "foreseal_status")
            reached = {reader.cursor.hash for reader in self._readers}
            if status["pool"]["pooled"] == 0 and reached == {status["hash"]}:
                break
            await asyncio.sleep(0.01)
        else:
            self.faults += [f"{reader.name} ended at {reader.cursor}" for reader in self._readers]
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _compare(self, begin: Cursor) -> None:
        ends = {reader.cursor for reader in self._readers}
        last = max(cursor.block for cursor in ends)
        blocks = Blocks(self._node.rpc, begin.block + 1, last - 1)
        self.summary.blocks = last - begin.block
        code = self._node.stop()
        if code != 0:
            self.faults.append(f"the node ended with {code}")
        for reader in self._readers:
            # Without reorganizations every written step counts, in the order of writing.
            if self.summary.reorganized:
                journal = chain_in(self._datadir, begin, reader.cursor)
            else:
                journal = written_in(self._datadir, reader.cursor)
            self.summary.journalled = len(journal)
            self.faults += reader.faults
            self.faults += compare_with_journal(reader.name, reader.chain, journal)
            self.faults += compare_with_blocks(reader.name, reader.chain, blocks)
        if len(ends) > 1:
            self.faults.append(f"the readers ended at {ends}")

    def _count(self) -> None:
        summary = self.summary
        for reader in self._readers:
            summary.events += reader.events
            summary.steps += reader.added
            summary.undone += reader.removed
            summary.transactions += reader.transactions
            summary.logs += reader.logs
            summary.connections += reader.connections
            summary.lags += reader.lags
            summary.reopened += reader.reopened
        summary.cuts = sum(proxy.cuts for proxy in self._proxies)


async def _start_load(url: str, token: str, seed: int) -> asyncio.subprocess.Process:
    command = [sys.executable, "-m", "traffic.transfers", url, token, str(seed)]
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    return await asyncio.create_subprocess_exec(*command, env=environment, stdout=subprocess.PIPE)


def _port(node: LiveNode) -> int:
    return int(node.url.rpartition(":")[2])
