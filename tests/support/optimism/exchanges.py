"""Recorded exchanges of a driver with its execution engine."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from optimism.recordings import decompress


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


def read_exchanges(file: Path) -> list[Exchange]:
    """Return the exchanges of a recording in order; a batch is one exchange for each member."""
    return [exchange for line in decompress(file) for exchange in _exchanges(orjson.loads(line))]


def _exchanges(entry: dict[str, Any]) -> Iterator[Exchange]:
    requests, responses = entry["request"], entry["response"]
    if isinstance(requests, dict):
        requests, responses = [requests], [responses]
    by_id = {response.get("id"): response for response in responses}
    for request in requests:
        yield Exchange(request["method"], request.get("params") or [], by_id[request["id"]])
