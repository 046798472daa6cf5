"""The double's process: `python -m cluster_double run` with the options of `foreseal run` in a cluster."""

import argparse
import http.client
import json
import os
import signal
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from typing import Any, ClassVar

from cluster_double.chain import DoubleChain
from cluster_double.sequencer import DoubleSequencer
from http_thread import QuietHandler

_FRESH = 2.0
_POLL = 0.05
_TIMEOUT = 1.0


class RpcError(Exception):
    """An error object."""


class DoubleNode:
    """One process of the double."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.chain = DoubleChain()
        self._options = options
        skip = frozenset(filter(None, os.environ.get("CLUSTER_DOUBLE_SKIP", "").split(",")))
        self._url = f"127.0.0.1:{options.port}"
        self._owner_rpc: str | None = None
        self.sequencer: DoubleSequencer | None = None
        if options.journal:
            self.sequencer = DoubleSequencer(self.chain, options.journal, options.name, self._url, skip)

    def start(self) -> None:
        """Start the work in the background."""
        if self.sequencer is not None:
            arguments = {"standby": self._options.standby}
            threading.Thread(target=self.sequencer.run, kwargs=arguments, daemon=True).start()
        else:
            threading.Thread(target=self._follow, daemon=True).start()

    @property
    def is_ready(self) -> bool:
        """True if the view is fresh."""
        return time.monotonic() - self.chain.changed < _FRESH and bool(self.chain.steps)

    def call(self, method: str, params: list[Any]) -> Any:
        """Return the result of a call."""
        match method:
            case "foreseal_status":
                return self._status()
            case "foreseal_getFlashblocks":
                return self.chain.page(params[0], int(params[1], 16) if len(params) > 1 else 100)
            case "eth_blockNumber":
                return hex(self.chain.sealed())
            case "eth_getBlockByNumber":
                return self.chain.block(int(params[0], 16))
            case "eth_sendRawTransaction":
                return self._submit(params[0])
        raise RpcError(f"unknown method {method}")

    def _status(self) -> dict[str, Any]:
        leads = self.sequencer is not None and self.sequencer.is_leader
        role = "replica" if self.sequencer is None else "leader" if leads else "standby"
        owner = self._owner_rpc if self.sequencer is None else self.sequencer.owner_rpc
        return {"cluster": {"role": role, "epoch": self.chain.epoch, "owner": owner}, "signer": None}

    def _submit(self, raw: str) -> str:
        owner = self._owner_rpc if self.sequencer is None else self.sequencer.owner_rpc
        if owner is None:
            raise RpcError("no owner")
        if owner == self._url:
            return self.chain.submit(raw)
        return str(request(owner, "eth_sendRawTransaction", raw))

    def _follow(self) -> None:
        """Follow the first feed that answers."""
        feeds = [address.removeprefix("tcp://") for address in self._options.follow.split(",")]
        cursor: Any = {"block": "0x0", "index": "0x0"}
        while True:
            try:
                status = request(feeds[0], "foreseal_status")["cluster"]
                page = request(feeds[0], "foreseal_getFlashblocks", cursor, "0x100")
            except (OSError, http.client.HTTPException, ValueError, RpcError):
                feeds.append(feeds.pop(0))
                time.sleep(_POLL)
                continue
            self._owner_rpc, self.chain.epoch = status["owner"], status["epoch"]
            for step in page["flashblocks"]:
                self.chain.add(step)
            cursor = page["cursor"]
            time.sleep(_POLL)


def request(address: str, method: str, *params: Any) -> Any:
    """Call another process of the double. Raises RpcError, OSError, HTTPException, and ValueError."""
    host, _, port = address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=_TIMEOUT)
    try:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        connection.request("POST", "/", body)
        answer = json.loads(connection.getresponse().read())
    finally:
        connection.close()
    if "error" in answer:
        raise RpcError(answer["error"]["message"])
    return answer["result"]


class Handler(QuietHandler):
    """Serves `/readyz` and JSON-RPC."""

    protocol_version = "HTTP/1.1"
    node: ClassVar[DoubleNode]

    def do_GET(self) -> None:
        """Answer a health check."""
        self.respond(200 if self.node.is_ready else 503)

    def do_POST(self) -> None:
        """Answer a call."""
        call = json.loads(self.read_body())
        steps, epoch = self.node.chain.steps, self.node.chain.epoch
        view = f"{int(steps[-1]['number'], 16)}.{int(steps[-1]['index'], 16)}; age=0; epoch={epoch}" if steps else None
        try:
            answer = {"result": self.node.call(call["method"], call["params"])}
        except LookupError as error:
            answer = {"error": {"code": -32001, "message": str(error)}}
        except (RpcError, OSError, http.client.HTTPException, ValueError) as error:
            answer = {"error": {"code": -32002, "message": str(error)}}
        body = json.dumps({"jsonrpc": "2.0", "id": call["id"], **answer}).encode()
        self.respond(200, body, **({} if view is None else {"X_Foreseal_View": view}))


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run"])
    parser.add_argument("--port", type=int)
    for name in ("name", "datadir", "genesis", "host", "feed-token-file", "journal", "sequencer-key"):
        parser.add_argument(f"--{name}")
    for name in ("feed-listen", "feed-advertise", "follow", "admin"):
        parser.add_argument(f"--{name}")
    for name in ("standby", "journal-force"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    node = Handler.node = DoubleNode(options)
    servers = [ThreadingHTTPServer(("127.0.0.1", options.port), Handler)]
    if options.feed_listen:
        servers.append(ThreadingHTTPServer(("127.0.0.1", int(options.feed_listen.rpartition(":")[2])), Handler))
    node.start()
    for server in servers[1:]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"serving on {options.port}", file=sys.stderr, flush=True)
    servers[0].serve_forever()


if __name__ == "__main__":
    main()
