"""Recorded exchanges of a driver with its execution engine: JSON lines, packed with zstd."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call, and the recorded response object."""

    method: str
    params: list[Any]
    response: dict[str, Any]

    @property
    def is_fork_choice(self) -> bool:
        """True for `engine_forkchoiceUpdated` of any version."""
        return self.method.startswith("engine_forkchoiceUpdated")

    @property
    def attributes(self) -> dict[str, Any] | None:
        """Payload attributes of a fork choice."""
        return self.params[1] if self.is_fork_choice and len(self.params) > 1 else None

    @property
    def payload_id(self) -> str | None:
        """Payload id that the recorded engine returned."""
        return (self.response.get("result") or {}).get("payloadId") if self.is_fork_choice else None


def read_recording(file: Path) -> list[Exchange]:
    """Return the exchanges in order; a batch is one exchange for each member."""
    with file.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as stream:
        return list(_exchanges(io.TextIOWrapper(stream)))


def _exchanges(lines: Iterator[str] | io.TextIOWrapper) -> Iterator[Exchange]:
    for line in lines:
        entry = json.loads(line)
        requests, responses = entry["request"], entry["response"]
        if isinstance(requests, dict):
            requests, responses = [requests], [responses]
        by_id = {response.get("id"): response for response in responses}
        for request in requests:
            yield Exchange(request["method"], request.get("params") or [], by_id[request["id"]])


def differences(expected: Any, actual: Any, at: str = "result") -> Iterator[str]:
    """Yield each difference of two results; the reason of an invalid block is free text."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in sorted(set(expected) | set(actual)):
            if key not in ("validationError", "payloadId"):
                yield from differences(expected.get(key), actual.get(key), f"{at}.{key}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from differences(*pair, f"{at}[{index}]")
    elif isinstance(expected, str) and isinstance(actual, str):
        if expected.lower() != actual.lower():
            yield f"{at}: recorded {expected[:160]}, got {actual[:160]}"
    elif expected != actual or type(expected) is not type(actual):
        yield f"{at}: recorded {str(expected)[:160]}, got {str(actual)[:160]}"
