"""Programs run by `eth_call` of a node: all code is in state overrides."""

import http.client
import statistics
import time
from collections.abc import Callable
from typing import Any

import orjson
from benches.opcodes.assembler import assemble
from benches.opcodes.rows import Row

NODE_OPTIONS = ("--block-time", "86400s", "--max-call-gas", "1000000000", "--max-call-time", "120s")
"""No block is made during the run, and no limit ends a program before its gas does."""
_TARGET = 0xC0FFEE
_BASE_GAS, _ZERO_GAS, _NONZERO_GAS = 21_000, 4, 16
_MIN_SECONDS, _MIN_CALLS, _MAX_CALLS = 0.4, 3, 50
_EMPTY_CALLS = 5
_OUT_OF_GAS = "out of gas"
_TIMEOUT = 180.0

Clock = Callable[[], float]


class CallError(Exception):
    """A call ended in an unexpected state; the message states how."""


class NodeCalls:
    """Calls of a node over one connection."""

    def __init__(self, port: int, clock: Clock = time.perf_counter) -> None:
        """`clock` returns seconds, of the wall or of the node's processor time."""
        self._clock = clock
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def time(self, row: Row, gas: int) -> float:
        """Return the median seconds of calls that use all gas, less those of an empty call. Raise CallError."""
        began = time.monotonic()
        empty, full = _body(row, assemble("STOP"), gas), _body(row, row.code, gas)
        overhead = statistics.median(self._timed(row, empty, None) for _ in range(_EMPTY_CALLS))
        self._timed(row, full, _OUT_OF_GAS)
        times: list[float] = []
        while len(times) < _MIN_CALLS or (time.monotonic() - began < _MIN_SECONDS and len(times) < _MAX_CALLS):
            times.append(self._timed(row, full, _OUT_OF_GAS))
        return max(statistics.median(times) - overhead, 1e-6)

    def probe(self, row: Row, gas: int) -> bytes:
        """Return the output of the row's probe. Raise CallError."""
        answer = self.call(_body(row, row.probe, gas))
        if "result" not in answer:
            raise CallError(f"{row.name}: the probe was answered by {answer}")
        return bytes.fromhex(answer["result"][2:])

    def ending(self, code: bytes) -> str:
        """Return the message of the error that ends a program; empty if it succeeds."""
        answer = self.call(_body(Row("", "", ""), code, _BASE_GAS))
        return str(answer.get("error", {}).get("message", ""))

    def call(self, body: bytes) -> dict[str, Any]:
        """Return the answer to a request."""
        self._connection.request("POST", "/", body, {"Content-Type": "application/json"})
        with self._connection.getresponse() as response:
            answer: dict[str, Any] = orjson.loads(response.read())
        return answer

    def _timed(self, row: Row, body: bytes, error: str | None) -> float:
        began = self._clock()
        answer = self.call(body)
        elapsed = self._clock() - began
        message = answer.get("error", {}).get("message")
        if message != error:
            raise CallError(f"{row.name}: expected {error or 'a result'}, got {answer}")
        return elapsed


def _body(row: Row, code: bytes, gas: int) -> bytes:
    """Return the request of a call in which the program has `gas`."""
    zeros = row.data.count(0)
    intrinsic = _BASE_GAS + _ZERO_GAS * zeros + _NONZERO_GAS * (len(row.data) - zeros)
    call = {"to": _hex_address(_TARGET), "gas": hex(gas + intrinsic), "input": "0x" + row.data.hex()}
    overrides = {
        _hex_address(address): {"code": "0x" + content.hex()}
        for address, content in [(_TARGET, code), *row.accounts.items()]
    }
    return orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [call, "latest", overrides]})


def _hex_address(address: int) -> str:
    return f"0x{address:040x}"
