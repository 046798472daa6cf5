"""What a notification costs a node: many subscribers to a token's logs, and token transfers at a steady pace."""

import time
from threading import Thread
from typing import Any

import orjson

from foreseal.bench import token
from foreseal.bench.contents import owner
from foreseal.bench.failures import BenchError
from foreseal.bench.filling import Filled, Mining

_PATIENCE = 30.0
_PACE = 0.05


def fanout(filled: Filled, subscribers: int, transfers: int) -> dict[str, Any]:
    """Processor time of the node for each notification, less what the same transfers take without subscribers.

    Raises BenchError if a subscriber does not get every log.
    """
    node = filled.node
    processes = node.processes
    _transfer(filled, 2)
    alone = processes.cpu() if processes else 0.0
    _transfer(filled, transfers)
    alone = (processes.cpu() if processes else 0.0) - alone
    topics = {"address": "0x" + filled.contents.token.hex(), "topics": [token.TRANSFER_TOPIC]}
    listening = node.subscribers(subscribers, "logs", topics)
    heard: list[Any] = []

    def listen() -> None:
        heard.append(orjson.loads(listening.listen(transfers, _PATIENCE, lambda done: None)))

    before = processes.cpu() if processes else 0.0
    thread = Thread(target=listen, name="subscribers")
    thread.start()
    try:
        _transfer(filled, transfers)
    finally:
        thread.join()
    used = (processes.cpu() if processes else 0.0) - before
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
        "bytes_per_notification": round(arrivals["received"] / count),
    }


def _transfer(filled: Filled, transfers: int) -> None:
    """Blocks of one token transfer, evenly."""
    sender, mining = filled.contents.senders[1], Mining(filled.node)
    due = time.monotonic()
    for number in range(transfers):
        due += _PACE
        mining.put(sender.sign(filled.contents.chain_id, [filled.contents.token_transfer(owner(number), 1)]))
        time.sleep(max(0.0, due - time.monotonic()))
