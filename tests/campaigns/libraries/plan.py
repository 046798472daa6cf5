"""Choice of combinations, and the groups of flows that share a chain."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from libraries.chains import CONTROL, ENDPOINTS, MODES
from libraries.library import Library

SCRIPT_FLOWS = ("deploy", "allowance", "transfer")
# The fee of the first one is below a base fee that decreases with each empty block.
ONCE_FLOWS = ("replacement", "confirmations", "events")
CHAIN_FLOWS = ("restart", "helpers")
ACCOUNTS = 6
"""Accounts of one endpoint: one for each script flow, one for the other flows, and two second accounts."""
"""Flows that change a chain for others: each has one of its own."""
FLOWS = SCRIPT_FLOWS + ONCE_FLOWS + CHAIN_FLOWS


class ChainKind(Enum):
    """Chain of a group of flows."""

    SHARED = "one node for the three endpoints and all groups"
    MINED = "one node for each endpoint, whose blocks a second client mines"
    OWN = "one node for each endpoint"
    RESTARTED = "one node for each endpoint, which the program can restart"


@dataclass(frozen=True, slots=True)
class Group:
    """Flows that one process of a cell runs."""

    flows: tuple[str, ...]
    account: int
    """Index of its account among those of the endpoint."""
    chain: ChainKind
    is_once: bool = True
    spender: int = 4
    """Index of its second account."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Choice of combinations, and their rounds."""

    rounds: int
    seed: int = 1
    endpoints: Sequence[str] = (*ENDPOINTS, CONTROL)
    modes: Sequence[str] = MODES
    flows: Sequence[str] = FLOWS
    requests: Path | None = None
    """Folder for a log of all requests over HTTP and their responses."""
    watched_blocks: int = 20
    """Blocks during which events are watched."""

    def groups(self, library: Library, mode: str) -> Iterator[Group]:
        """Return the groups of each cell of the library in this mode."""
        chosen = [flow for flow in library.flows if flow in self.flows]
        for index, flow in enumerate(SCRIPT_FLOWS):
            if flow in chosen:
                # These flows run at once, and hardhat-ignition rejects an account that another flow uses.
                spender = 5 if flow == "allowance" else 4
                yield Group((flow,), index, ChainKind.SHARED, is_once=False, spender=spender)
        if once := tuple(flow for flow in ONCE_FLOWS if flow in chosen):
            yield Group(once, 3, ChainKind.MINED if mode == "automine" else ChainKind.SHARED)
        if "restart" in chosen:
            yield Group(("restart",), 0, ChainKind.RESTARTED)
        # The network helpers are for development chains with automine.
        if "helpers" in chosen and mode == "automine":
            yield Group(("helpers",), 0, ChainKind.OWN)
