"""What a notification costs a node: many subscribers to a token's logs, and token transfers at a steady pace."""

import time
from threading import Thread
from typing import Any

import orjson

from foreseal.bench import token
from foreseal.bench.contents import owner
from foreseal.bench.failures import BenchError
from foreseal.bench.filling import Filled, Mining
from foreseal.bench.processes import Processes

_PATIENCE = 30.0
_PACE = 0.05
# A node is quiet when so many seconds take it no more than such a share of them.
_LOOK, _QUIET = 0.5, 0.05
_UNTIL_QUIET = 30.0


def fanout(filled: Filled, subscribers: int, transfers: int) -> dict[str, Any]:
    """Processor time of the node for each notification: all that it takes, and that less what the same transfers take
    just before, without subscribers.

    What the node has left to do of other work is waited for. Raises BenchError if a subscriber does not get every log.
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
    heard: list[Any] = []

    def listen() -> None:
        heard.append(orjson.loads(listening.listen(transfers, _PATIENCE, lambda done: None)))

    before = _used(processes)
    thread = Thread(target=listen, name="subscribers")
    thread.start()
    try:
        _transfer(filled, transfers)
    finally:
        thread.join()
    used = _used(processes) - before
    arrivals = heard[0]
    if arrivals["ended"] or arrivals["fewest"] != transfers or arrivals["most"] != transfers:
        raise BenchError(
            f"{node.name}: of {transfers} logs subscribers got {arrivals['fewest']} to {arrivals['most']}; "
            f"{arrivals['ended']} connections ended: {arrivals['first_end']}"
        )
    count = arrivals["notifications"]
    return {
        "node": node.name,
        "subscribers": subscribers,
        "notifications": count,
        "cpu_us_per_notification": round((used - alone) / count * 1e6, 2) if processes else None,
        "cpu_us_with_transfers": round(used / count * 1e6, 2) if processes else None,
        "bytes_per_notification": round(arrivals["received"] / count),
    }


def _used(processes: Processes | None) -> float:
    return processes.cpu() if processes else 0.0


def _until_quiet(processes: Processes) -> None:
    """Wait until a node has nothing left to do, or forever seems to be its way."""
    deadline = time.monotonic() + _UNTIL_QUIET
    while time.monotonic() < deadline:
        before = processes.cpu()
        time.sleep(_LOOK)
        if processes.cpu() - before <= _LOOK * _QUIET:
            return


def _transfer(filled: Filled, transfers: int) -> None:
    """Blocks of one token transfer, evenly."""
    sender, mining = filled.contents.senders[1], Mining(filled.node)
    due = time.monotonic()
    for number in range(transfers):
        due += _PACE
        mining.put(sender.sign(filled.contents.chain_id, [filled.contents.token_transfer(owner(number), 1)]))
        time.sleep(max(0.0, due - time.monotonic()))
