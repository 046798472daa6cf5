"""Honest clients: calls at fixed times with verified responses and delays measured from the due time."""

import http.client
import threading
import time
from statistics import quantiles

import orjson

CLIENTS = 4
EVERY = 0.04
"""Seconds between two calls of one client."""
_CALLS = [
    ("eth_blockNumber", []),
    ("eth_getBlockByNumber", ["pending", False]),
    ("eth_getBalance", ["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "latest"]),
    ("eth_getLogs", [{"fromBlock": "pending", "toBlock": "pending"}]),
    ("eth_getTransactionCount", ["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "pending"]),
]


class Honest:
    """Clients that call continuously until they are stopped."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stop = threading.Event()
        self._delays: list[float] = []
        self.faults: list[str] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop all clients."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def drain_delays(self) -> dict[str, float]:
        """Return delays since the last call, in ms."""
        delays, self._delays = sorted(self._delays), []
        if len(delays) < 2:
            raise RuntimeError(f"no honest call was answered: {self.faults[:3]}")
        cuts = quantiles(delays, n=1000)
        return {
            "calls": len(delays),
            "p50 ms": round(cuts[499] * 1000, 2),
            "p99 ms": round(cuts[989] * 1000, 2),
            "p999 ms": round(cuts[998] * 1000, 2),
            "most ms": round(delays[-1] * 1000, 2),
        }

    def _run(self, number: int) -> None:
        line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        due = time.perf_counter() + number * EVERY / CLIENTS
        turn = number
        while not self._stop.is_set():
            wait = due - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            method, params = _CALLS[turn % len(_CALLS)]
            turn += 1
            try:
                self._call(line, method, params)
            except (OSError, http.client.HTTPException, AssertionError) as error:
                self.faults.append(f"{method}: {error!r}")
                line.close()
            self._delays.append(time.perf_counter() - due)
            due += EVERY
        line.close()

    def _call(self, line: http.client.HTTPConnection, method: str, params: object) -> None:
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        line.request("POST", "/", body, {"Content-Type": "application/json"})
        answer = line.getresponse()
        content = orjson.loads(answer.read())
        assert answer.status == 200, answer.status
        assert content.get("result") is not None, content
