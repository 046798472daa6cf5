"""Sends signed transfers of many accounts to all processes at a steady rate."""

import contextlib
import http.client
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import orjson

from foreseal._core import derive_accounts, sign_transactions

CHAIN_ID = 31337
ACCOUNTS = 400
_MNEMONIC = "test test test test test test test test test test test junk"
_FEES = (20 * 10**9, 10**9)
_RECIPIENT = b"\xee" * 20
_GAS = 21_000
# Transactions signed at once.
_BATCH = 32
_TIMEOUT = 1.0
# A transaction in no step after this many seconds is sent again, to another process.
_RESEND = 3.0
# One in this many transactions is sent to a second process as well.
_DUPLICATE = 50
_IDLE = 0.005


def funded_accounts() -> list[tuple[str, str]]:
    """Return address and key of each account."""
    return derive_accounts(_MNEMONIC, ACCOUNTS)


@dataclass
class _Account:
    key: bytes
    nonce: int = 0
    signed: list[tuple[bytes, bytes]] = field(default_factory=list)
    sent_at: float | None = None

    def current(self) -> tuple[str, str]:
        """Return the raw transaction with the next nonce and its hash, as 0x hex."""
        at = self.nonce % _BATCH
        if not self.signed:
            orders = [(_RECIPIENT, 1, _GAS, b"")] * _BATCH
            self.signed = sign_transactions(self.key, CHAIN_ID, _FEES, self.nonce - at, orders)
        raw, digest = self.signed[at]
        return "0x" + raw.hex(), "0x" + digest.hex()

    def advance(self) -> None:
        self.nonce += 1
        self.sent_at = None
        if self.nonce % _BATCH == 0:
            self.signed = []


class TransferLoad:
    """One thread per process; an account has one transaction in flight, and continues at any process."""

    def __init__(self, ports: Sequence[int], rate: float, seed: int, is_included: Callable[[str], bool]) -> None:
        """`rate` is the number of transactions a second of all threads together."""
        self.accepted = 0
        self.rejected = 0
        self.included = 0
        self._is_included = is_included
        self._queues: list[queue.SimpleQueue[_Account]] = [queue.SimpleQueue() for _ in ports]
        for number, (_, key) in enumerate(funded_accounts()):
            self._queues[number % len(ports)].put(_Account(bytes.fromhex(key.removeprefix("0x"))))
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(
                target=self._run, args=(at, ports, len(ports) / rate, random.Random(seed + at)), daemon=True
            )
            for at in range(len(ports))
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop sending."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(2 * _TIMEOUT)

    def _run(self, at: int, ports: Sequence[int], interval: float, rng: random.Random) -> None:
        with contextlib.closing(_Submitter(ports[at])) as client:
            self._send_until_stopped(at, client, ports, rng, interval)

    def _send_until_stopped(
        self, at: int, client: "_Submitter", ports: Sequence[int], rng: random.Random, interval: float
    ) -> None:
        due = time.monotonic()
        while not self._stopped.is_set():
            now = time.monotonic()
            # After a stall it does not catch up: the rate is a maximum.
            due = max(due, now - 1.0)
            account = self._next_ready(at) if now >= due else None
            if account is None:
                self._stopped.wait(max(due - now, _IDLE))
                continue
            due += interval
            raw, _ = account.current()
            account.sent_at = time.monotonic()
            if client.send(raw):
                with self._lock:
                    self.accepted += 1
                if rng.randrange(_DUPLICATE) == 0:
                    other = _Submitter(rng.choice(ports))
                    other.send(raw)
                    other.close()
                self._queues[at].put(account)
            else:
                with self._lock:
                    self.rejected += 1
                account.sent_at = None
                self._queues[rng.randrange(len(ports))].put(account)

    def _next_ready(self, at: int) -> _Account | None:
        """Return an account without a transaction in flight, or with one to send again."""
        accounts = self._queues[at]
        for _ in range(min(accounts.qsize(), ACCOUNTS)):
            account = accounts.get()
            if account.sent_at is None:
                return account
            if self._is_included(account.current()[1]):
                with self._lock:
                    self.included += 1
                account.advance()
                return account
            if time.monotonic() - account.sent_at > _RESEND:
                account.sent_at = None
                # Another process may have lost it.
                self._queues[(at + 1) % len(self._queues)].put(account)
            else:
                accounts.put(account)
        return None


class _Submitter:
    """Client for submissions to one process."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection: http.client.HTTPConnection | None = None

    def send(self, raw: str) -> bool:
        """Return True if the process accepted the transaction, or has it already."""
        request = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw]}
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT)
            self._connection.request("POST", "/", orjson.dumps(request), {"Content-Type": "application/json"})
            answer = orjson.loads(self._connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
            return False
        return "result" in answer or "already known" in str(answer["error"].get("message"))

    def close(self) -> None:
        """Close the connection; the next submission opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
