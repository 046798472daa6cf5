"""Subscriptions of one connection, each maintained as a list: entries with `removed: true` leave it."""

import contextlib
import json
import threading
from typing import Any

from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

KINDS = ("newFlashblocks", "newFlashblockTransactions", "pendingLogs", "logs")
_TIMEOUT = 20.0
Entry = tuple[str, ...]


class StreamReader:
    """A thread that reads the subscriptions from the newest step on."""

    def __init__(self, url: str) -> None:
        """Subscribe at an HTTP URL of the node."""
        self.lists: dict[str, list[Entry]] = {kind: [] for kind in KINDS}
        """Entries of each subscription that were not removed, in order."""
        self.removed = dict.fromkeys(KINDS, 0)
        self.faults: list[str] = []
        # `connect` returns a context manager.
        self._closing = contextlib.ExitStack()
        opened = connect(url.replace("http", "ws", 1), max_size=None, open_timeout=_TIMEOUT)
        self._connection = self._closing.enter_context(opened)
        self._kinds: dict[str, str] = {}
        for ident, kind in enumerate(KINDS, 1):
            request = {"jsonrpc": "2.0", "id": ident, "method": "eth_subscribe", "params": [kind]}
            self._connection.send(json.dumps(request))
            self._kinds[self._subscription_id()] = kind
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the connection."""
        self._closing.close()
        self._thread.join(_TIMEOUT)

    def _subscription_id(self) -> str:
        """Return the id of the response; notifications of earlier subscriptions may precede it."""
        while True:
            message = json.loads(self._connection.recv(_TIMEOUT))
            if "method" not in message:
                return str(message["result"])
            self._apply(message)

    def _run(self) -> None:
        try:
            for text in self._connection:
                self._apply(json.loads(text))
        except ConnectionClosedError as error:
            self.faults.append(f"the node closed the connection: {error}")

    def _apply(self, message: dict[str, Any]) -> None:
        kind = self._kinds[message["params"]["subscription"]]
        content, entries = message["params"]["result"], self.lists[kind]
        entry = _entry(kind, content)
        if not (isinstance(content, dict) and content.get("removed")):
            entries.append(entry)
            return
        self.removed[kind] += 1
        # The logs of a step may be removed in any order.
        index = next((at for at in range(len(entries) - 1, -1, -1) if entries[at] == entry), None)
        if index is None:
            self.faults.append(f"{kind}: {entry} is removed, and is not in the list")
        else:
            del entries[index]


def _entry(kind: str, content: Any) -> Entry:
    """Return the fields that identify an entry of a subscription."""
    if kind == "newFlashblocks":
        return content["hash"], content["number"]
    if kind == "newFlashblockTransactions":
        return (content["hash"] if isinstance(content, dict) else content,)
    return content["transactionHash"], content["logIndex"], content["blockNumber"]
