"""Sends signed transfers of many accounts to all processes at a steady rate."""

import contextlib
import http.client
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foreseal.bench.chain_content import SignedTransaction
from live.rpc import Rpc
from transfer_accounts import ACCOUNTS, TransferAccount, transfer_accounts

_TIMEOUT = 1.0
# A transaction in no step after this many seconds is sent again, to another process.
_RESEND = 3.0
# One in this many transactions is sent to a second process as well.
_DUPLICATE = 50
_IDLE = 0.005


@dataclass
class _LoadAccount:
    transfers: TransferAccount
    sent_at: float | None = None
    """Time at which the next transfer was sent."""

    @property
    def transfer(self) -> SignedTransaction:
        return self.transfers.peek()

    def advance(self) -> None:
        self.transfers.pop()
        self.sent_at = None


class TransferLoad:
    """One thread per process; an account has one transaction in flight, and continues at any process."""

    def __init__(self, ports: Sequence[int], rate: float, seed: int, is_included: Callable[[str], bool]) -> None:
        """`rate` is the number of transactions a second of all threads together."""
        self.accepted = 0
        self.rejected = 0
        self.included = 0
        self._is_included = is_included
        self._queues: list[queue.SimpleQueue[_LoadAccount]] = [queue.SimpleQueue() for _ in ports]
        for number, account in enumerate(transfer_accounts()):
            self._queues[number % len(ports)].put(_LoadAccount(account))
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
        with contextlib.closing(_rpc(ports[at])) as rpc:
            self._send_until_stopped(at, rpc, ports, rng, interval)

    def _send_until_stopped(self, at: int, rpc: Rpc, ports: Sequence[int], rng: random.Random, interval: float) -> None:
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
            account.sent_at = time.monotonic()
            if _submit(rpc, account.transfer):
                with self._lock:
                    self.accepted += 1
                if rng.randrange(_DUPLICATE) == 0:
                    with contextlib.closing(_rpc(rng.choice(ports))) as other:
                        _submit(other, account.transfer)
                self._queues[at].put(account)
            else:
                with self._lock:
                    self.rejected += 1
                account.sent_at = None
                self._queues[rng.randrange(len(ports))].put(account)

    def _next_ready(self, at: int) -> _LoadAccount | None:
        """Return an account without a transaction in flight, or with one to send again."""
        accounts = self._queues[at]
        for _ in range(min(accounts.qsize(), ACCOUNTS)):
            account = accounts.get()
            if account.sent_at is None:
                return account
            if self._is_included(account.transfer.hash):
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


def _submit(rpc: Rpc, transfer: SignedTransaction) -> bool:
    """Submit a transfer. Return True if the process accepted it, or has it already."""
    try:
        answer = rpc.http_call("eth_sendRawTransaction", transfer.raw).json()
    except (OSError, http.client.HTTPException, ValueError):
        return False
    return "result" in answer or "already known" in str(answer["error"].get("message"))


def _rpc(port: int) -> Rpc:
    return Rpc(f"http://127.0.0.1:{port}", _TIMEOUT)
