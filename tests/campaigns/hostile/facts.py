"""Facts about a node for hostile and honest clients, passed to their processes in a file."""

import dataclasses
from pathlib import Path
from typing import Any

import orjson

OBSERVED_ACCOUNTS = 32
"""Accounts of one honest client."""
HOSTILE_ACCOUNTS = 400
"""Funded accounts of all hostile clients."""
BALANCE = 10**24
RICH = "0x" + "71" * 20
"""An account that never sends; its balance is a constant."""
LOGGER = bytes.fromhex("c0de" * 10)
TRACED = bytes.fromhex("c0df" * 10)
STORING = bytes.fromhex("c0d0" * 10)
STORED_SLOTS = 4096


@dataclasses.dataclass
class Facts:
    """Facts that clients of a node need."""

    port: int = 0
    certificate: str | None = None
    """PEM file of the authority that signed the node's certificate; None for plain HTTP."""
    keys: list[str] = dataclasses.field(default_factory=list)
    """API keys of the dedicated tier: that of the honest clients, then that of honest readers of hostile data."""
    logged_block: str = "0x0"
    logs: int = 0
    """Logs of that block."""
    traced_block: str = "0x0"
    traced_transaction: str = ""
    cursor: dict[str, Any] | None = None
    """An early cursor of the feed."""

    def save(self, file: Path) -> None:
        """Write the facts for another process."""
        file.write_bytes(orjson.dumps(dataclasses.asdict(self)))

    @classmethod
    def load(cls, file: Path) -> "Facts":
        """Read facts written by `save`."""
        return cls(**orjson.loads(file.read_bytes()))
