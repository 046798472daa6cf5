"""Submits one transaction after the other through the load balancer, and measures how long each is rejected."""

import threading
import time
from dataclasses import dataclass

from cluster_upgrade.balanced_client import BalancedClient, CallFailed
from transfer_accounts import TransferAccount

_PAUSE = 0.005


@dataclass(frozen=True, slots=True)
class Submission:
    """One transaction, from the first attempt until a node accepted it; times are on the monotonic clock."""

    began: float
    accepted: float
    first_rejection: float | None
    """Time of the first response that rejected it; None if the first attempt succeeded."""
    reason: str | None = None

    @property
    def rejected_seconds(self) -> float:
        """Seconds for which it was rejected."""
        return 0.0 if self.first_rejection is None else self.accepted - self.first_rejection


class SubmissionProbe:
    """A thread with one account. A rejected transaction is sent again after 5 ms."""

    def __init__(self, port: int, account: TransferAccount) -> None:
        self.submissions: list[Submission] = []
        self.hashes: list[str] = []
        """Hashes of the accepted transactions."""
        self._account = account
        self._client = BalancedClient(port)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the transaction in progress."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_PAUSE):
            transfer = self._account.pop()
            submission = self._submit(transfer.raw)
            if submission is not None:
                self.submissions.append(submission)
                self.hashes.append(transfer.hash)
        self._client.close()

    def _submit(self, raw: str) -> Submission | None:
        began = time.monotonic()
        rejection: float | None = None
        reason: str | None = None
        while True:
            try:
                self._client.call("eth_sendRawTransaction", raw)
            except CallFailed as error:
                if "already known" in str(error) or "nonce too low" in str(error):
                    # An earlier attempt was accepted, but its response was lost.
                    return Submission(began, time.monotonic(), rejection, reason)
                rejection, reason = rejection or time.monotonic(), reason or str(error)
                if self._stopped.wait(_PAUSE):
                    return None
            else:
                return Submission(began, time.monotonic(), rejection, reason)
