"""A process of honest clients: `python -m hostile.observer FACTS`.

Each method of each caller has its own schedule. A delay counts from the scheduled time, so a server that stalls shows
in every call that was due meanwhile. Each response is verified; each outcome is printed as a line of JSON.
"""

import asyncio
import contextlib
import hashlib
import itertools
import random
import ssl
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import orjson

from hostile.child_process import run_until_input_ends
from hostile.facts import BALANCE, OBSERVED_ACCOUNTS, RICH, Facts
from hostile.signing import GWEI, Account, Fees, accounts
from hostile.wire import Connection, Response, call

ADDRESSES = {"public": "127.0.1.1", "keyed": "127.0.1.2"}
"""The callers and their loopback addresses."""
ANSWER_TIME = 15.0
"""Seconds after which a call without a response is a fault."""
_LANES = 3
"""Concurrent calls of one method by one caller."""
_WAITING_LANES = 16
"""Concurrent submissions that wait for their receipts."""
INCLUSION = "eth_sendRawTransactionSync"
"""The call whose delay is the time from a submission to its receipt."""
_INCLUSION_TIME = 10_000
"""Longest wait for a receipt in ms: the limit of a public caller."""
NOT_SENT = "not sent: earlier calls have no answer"
_LATE = 2.0
"""A call that is this many seconds late, because earlier ones have no response, is recorded and not sent."""
RATES = {
    "eth_sendRawTransaction": 20.0,
    "eth_getBlockByNumber pending": 8.0,
    "eth_getBlockByNumber latest": 8.0,
    "eth_getBalance": 8.0,
    "eth_getTransactionCount": 8.0,
    "eth_blockNumber": 8.0,
    "eth_getLogs": 2.0,
    "eth_call": 4.0,
    INCLUSION: 2.0,
}
"""Calls per second of each caller, in total below the rate limit of a public address."""
_open: set[float] = set()
"""Due times of the calls in flight."""
FAIR = Fees(100 * GWEI, GWEI)
"""Fees of honest senders whose inclusion is measured."""
SHA256 = "0x" + "00" * 19 + "02"
_HASHED = b"honest"


Steps = Generator[bytes, Any, None]
"""Yields the body of a call, and receives its result."""


class Unexpected(Exception):
    """A response is wrong or an error."""


class Caller:
    """One honest client: its state of the chain, and its expected responses."""

    def __init__(self, name: str, facts: Facts, key: str | None) -> None:
        self.name = name
        self.facts = facts
        self.key = key
        self.sealed = 0
        self.pending = 0
        self._idle = deque([account, 0] for account in accounts(name, OBSERVED_ACCOUNTS))
        self._waiting = deque([account, 0] for account in accounts(f"{name}-waiting", OBSERVED_ACCOUNTS))
        self._count: dict[str, int] = {}
        self._draw = random.Random(1)
        self._logs_digest: str | None = None
        self.calls: dict[str, Callable[[], Steps]] = {
            "eth_sendRawTransaction": self._submit,
            "eth_getBlockByNumber pending": self._pending_block,
            "eth_getBlockByNumber latest": self._latest_block,
            "eth_getBalance": self._balance,
            "eth_getTransactionCount": self._transaction_count,
            "eth_blockNumber": self._block_number,
            "eth_getLogs": self._logs,
            "eth_call": self._call,
            INCLUSION: self._await_receipt,
        }
        """Generators that yield the body of a call and receive its result."""

    def _submit(self) -> Steps:
        if not self._idle:
            raise Unexpected("every account waits for an answer")
        entry: list[Any] = self._idle.popleft()
        account: Account = entry[0]
        signed = account.sign(entry[1])
        try:
            result = yield call("eth_sendRawTransaction", signed.raw)
            if result != signed.hash:
                raise Unexpected(f"the answer names {result}")
            entry[1] += 1
        finally:
            self._idle.append(entry)

    def _await_receipt(self) -> Steps:
        if not self._waiting:
            raise Unexpected("every account waits for a receipt")
        entry: list[Any] = self._waiting.popleft()
        account: Account = entry[0]
        signed = account.sign(entry[1], fees=FAIR)
        try:
            result = yield call(INCLUSION, signed.raw, _INCLUSION_TIME)
            if result["transactionHash"] != signed.hash or result["status"] != "0x1":
                raise Unexpected(f"the receipt is of {result['transactionHash']}")
            entry[1] += 1
        finally:
            self._waiting.append(entry)

    def _pending_block(self) -> Steps:
        floor = self.pending
        result = yield call("eth_getBlockByNumber", "pending", False)
        number = int(result["number"], 16)
        if number < floor or len(result["parentHash"]) != 66:
            raise Unexpected(f"pending is block {number} after {floor}")
        self.pending = max(self.pending, number)

    def _latest_block(self) -> Steps:
        floor = self.sealed
        result = yield call("eth_getBlockByNumber", "latest", False)
        self._check_sealed(int(result["number"], 16), floor)

    def _block_number(self) -> Steps:
        floor = self.sealed
        result = yield call("eth_blockNumber")
        self._check_sealed(int(result, 16), floor)

    def _check_sealed(self, number: int, floor: int) -> None:
        if number < floor:
            raise Unexpected(f"the newest block is {number} after {floor}")
        self.sealed = max(self.sealed, number)

    def _balance(self) -> Steps:
        result = yield call("eth_getBalance", RICH, "latest")
        if int(result, 16) != BALANCE:
            raise Unexpected(f"the balance is {result}")

    def _transaction_count(self) -> Steps:
        entry: list[Any] = self._draw.choice(list(self._idle))
        account: Account = entry[0]
        floor = self._count.get(account.address, 0)
        result = int((yield call("eth_getTransactionCount", account.address, "pending")), 16)
        if result < floor:
            raise Unexpected(f"the nonce is {result} after {floor}")
        self._count[account.address] = max(self._count.get(account.address, 0), result)

    def _logs(self) -> Steps:
        block = self.facts.logged_block
        result = yield call("eth_getLogs", {"fromBlock": block, "toBlock": block})
        digest = hashlib.sha256(orjson.dumps(result)).hexdigest()
        self._logs_digest = self._logs_digest or digest
        if len(result) != self.facts.logs or digest != self._logs_digest:
            raise Unexpected(f"{len(result)} logs in place of {self.facts.logs}")

    def _call(self) -> Steps:
        result = yield call("eth_call", {"to": SHA256, "data": "0x" + _HASHED.hex()}, "latest")
        if result != "0x" + hashlib.sha256(_HASHED).hexdigest():
            raise Unexpected(f"the result is {result}")


class Lane:
    """One connection that makes the calls of a schedule as they become due."""

    def __init__(self, caller: Caller, method: str, dues: Iterator[float], tls: ssl.SSLContext | None) -> None:
        self._caller = caller
        self._method = method
        self._dues = dues
        self._tls = tls
        self._connection: Connection | None = None

    async def run(self) -> None:
        """Make calls until cancelled."""
        for due in self._dues:
            delay = due - time.monotonic()
            if delay > 0:
                await asyncio.sleep(delay)
            _open.add(due)
            fault = NOT_SENT if delay < -_LATE else await self._attempt()
            _open.discard(due)
            report(due, self._caller.name, self._method, time.monotonic() - due, fault)

    async def _attempt(self) -> str | None:
        try:
            async with asyncio.timeout(ANSWER_TIME):
                await self._call()
        except TimeoutError:
            self._drop()
            return f"no answer within {ANSWER_TIME:.0f} s"
        except (OSError, asyncio.IncompleteReadError, Unexpected, ValueError, LookupError, TypeError) as error:
            self._drop()
            return f"{type(error).__name__}: {error}"[:200]
        return None

    async def _call(self) -> None:
        steps = self._caller.calls[self._method]()
        try:
            body = next(steps)
            response = await self._exchange(body)
            with contextlib.suppress(StopIteration):
                steps.send(result_of(response))
        finally:
            steps.close()

    async def _exchange(self, body: bytes) -> Response:
        if self._connection is not None:
            # A server may close a connection between two calls; then the client reconnects.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                return await self._connection.post(body, self._caller.key)
            self._drop()
        address = ADDRESSES[self._caller.name]
        self._connection = await Connection.open(self._caller.facts.port, address, self._tls)
        return await self._connection.post(body, self._caller.key)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def result_of(response: Response) -> Any:
    """Return the result of a call. Raises `Unexpected`."""
    if response.status != 200:
        raise Unexpected(f"HTTP {response.status}: {response.body[:100]!r}")
    answer = response.json()
    error = answer.get("error")
    if error is not None:
        raise Unexpected(f"{error['code']}: {error['message']}")
    return answer["result"]


def report(due: float, caller: str, method: str, delay: float, fault: str | None) -> None:
    """Print the outcome of a call."""
    line = {"at": due, "caller": caller, "method": method, "ms": round(delay * 1000, 3), "fault": fault}
    line["oldest"] = min(_open, default=due)
    print(orjson.dumps(line).decode(), flush=True)


def tls_context(facts: Facts) -> ssl.SSLContext | None:
    """Return the TLS context of the node's clients; None for plain HTTP."""
    return ssl.create_default_context(cafile=facts.certificate) if facts.certificate else None


def schedule(rate: float, offset: float) -> Iterator[float]:
    """Return the times at which calls are due."""
    begin = time.monotonic() + 0.1 + offset
    return (begin + number / rate for number in itertools.count())


async def observe(facts: Facts) -> None:
    """Run every client until cancelled."""
    tls = tls_context(facts)
    async with asyncio.TaskGroup() as group:
        for name, key in (("public", None), ("keyed", facts.keys[0])):
            caller = Caller(name, facts, key)
            for number, (method, rate) in enumerate(RATES.items()):
                dues = schedule(rate, number * 0.013)
                for _ in range(_WAITING_LANES if method == INCLUSION else _LANES):
                    group.create_task(Lane(caller, method, dues, tls).run())


def main() -> int:
    """Observe the node described by the facts file, until standard input ends."""
    run_until_input_ends(observe(Facts.load(Path(sys.argv[1]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
