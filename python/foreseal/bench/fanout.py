"""Cost of a notification: many subscribers to a token's logs, and token transfers at a steady pace."""

import time
from threading import Thread
from typing import Any

import orjson

from foreseal.bench import token
from foreseal.bench.chain_content import owner
from foreseal.bench.content_writer import BlockControl, FilledNode
from foreseal.bench.errors import BenchError
from foreseal.bench.process_usage import ProcessGroup

_PATIENCE = 30.0
_PACE = 0.05
# A node is idle when it uses at most this share of processor time during an interval of this many seconds.
_POLL_INTERVAL, _QUIET = 0.5, 0.05
_UNTIL_QUIET = 30.0


def fanout(filled: FilledNode, subscribers: int, transfers: int) -> dict[str, Any]:
    """Measure the node's processor time per notification.

    The result has the total, and the total less the time of the same transfers just before, without subscribers. That
    difference is None if the variation of the transfers exceeds it. The measurement starts when the node is idle. Raise
    BenchError if a subscriber misses a log.
    """
    node = filled.node
    processes = node.processes
    _transfer(filled, 2)
    if processes:
        _until_quiet(processes)
    alone = _used(processes)
    _transfer(filled, transfers)
    alone = _used(processes) - alone
    topics = {"address": "0x" + filled.contents.token.hex(), "topics": [token.TRANSFER_TOPIC]}
    listening = node.subscribers(subscribers, "logs", topics)
    results: list[Any] = []

    def listen() -> None:
        results.append(orjson.loads(listening.listen(transfers, _PATIENCE, lambda done: None)))

    before = _used(processes)
    thread = Thread(target=listen, name="subscribers")
    thread.start()
    try:
        _transfer(filled, transfers)
    finally:
        thread.join()
    used = _used(processes) - before
    arrivals = results[0]
    if arrivals["ended"] or arrivals["min"] != transfers or arrivals["max"] != transfers:
        raise BenchError(
            f"{node.name}: of {transfers} logs subscribers got {arrivals['min']} to {arrivals['max']}; "
            f"{arrivals['ended']} connections ended: {arrivals['first_end']}"
        )
    count = arrivals["notifications"]
    return {
        "node": node.name,
        "subscribers": subscribers,
        "notifications": count,
        "cpu_us_per_notification": round((used - alone) / count * 1e6, 2) if used > alone else None,
        "cpu_us_with_transfers": round(used / count * 1e6, 2) if processes else None,
        "bytes_per_notification": round(arrivals["received"] / count),
    }


def _used(processes: ProcessGroup | None) -> float:
    return processes.cpu() if processes else 0.0


def _until_quiet(processes: ProcessGroup) -> None:
    """Wait until the node is idle, at most `_UNTIL_QUIET` seconds."""
    deadline = time.monotonic() + _UNTIL_QUIET
    while time.monotonic() < deadline:
        before = processes.cpu()
        time.sleep(_POLL_INTERVAL)
        if processes.cpu() - before <= _POLL_INTERVAL * _QUIET:
            return


def _transfer(filled: FilledNode, transfers: int) -> None:
    """Make blocks of one token transfer each at an even pace."""
    sender, mining = filled.contents.senders[1], BlockControl(filled.node)
    due = time.monotonic()
    for number in range(transfers):
        due += _PACE
        mining.put(sender.sign(filled.contents.chain_id, [filled.contents.token_transfer(owner(number), 1)]))
        time.sleep(max(0.0, due - time.monotonic()))
