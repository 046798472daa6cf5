"""All combinations of libraries, endpoints, modes and flows."""

import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from libraries.chains import (
    BLOCK_SECONDS,
    CONTROL,
    ENDPOINTS,
    Chain,
    anvil_node,
    mined_by_another_client,
    node,
)
from libraries.library import LIBRARIES, Library, NotInstalled
from libraries.plan import ACCOUNTS, FLOWS, SCRIPT_FLOWS, ChainKind, Group, Plan
from libraries.request_log import recorded
from libraries.restarts import restartable
from live import DEV_ACCOUNTS
from live.accounts import key_of
from live.contracts import CONTRACTS
from repository import ROOT

AUTOMINE_MS = 200
"""Longest random pause before a round under automine, in milliseconds."""
ROUND_MS = 50_000
"""A round that takes longer has failed. The watched blocks are added."""

_PROCESS_TIME = 1800.0
_VALUE = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(slots=True)
class Outcome:
    """Rounds of one flow of a library at one endpoint."""

    library: str
    endpoint: str
    mode: str
    flow: str
    rounds: int = 0
    passed: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    """Rounds by error; errors that differ only in numbers are one."""

    def add(self, line: dict[str, Any], patterns: dict[str, str]) -> None:
        """Count a line that a program printed."""
        self.rounds += 1
        self.passed += line["ok"]
        if not line["ok"]:
            text = patterns.setdefault(_VALUE.sub("#", line["error"]), line["error"])
            self.errors[text] = self.errors.get(text, 0) + 1

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.library, self.endpoint, self.mode, self.flow

    @property
    def is_passed(self) -> bool:
        return 0 < self.rounds == self.passed


def read_outcomes(file: Path, commit: str | None) -> tuple[dict[str, str], list[Outcome]]:
    """Return versions and outcomes of a saved result.

    Nothing if the file does not exist, or was not measured on this commit without local changes.
    """
    saved = json.loads(file.read_text()) if file.exists() else {}
    if not saved or commit is None or (saved["commit"], saved["dirty"]) != (commit, False):
        return {}, []
    figures = saved["figures"]
    return figures["versions"], [Outcome(**outcome) for outcome in figures["outcomes"]]


@dataclass(slots=True)
class Report:
    """Outcome of all combinations."""

    versions: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """Reasons by library."""
    outcomes: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def faults(self) -> list[str]:
        """Combinations that must pass and do not, although they pass on anvil."""
        controls = {
            # anvil rejects a transaction whose fee is too low to be included.
            (o.library, o.mode, o.flow): o.is_passed or o.flow == "replacement"
            for o in self.outcomes
            if o.endpoint == CONTROL
        }
        return [
            f"{o.library} at {o.endpoint}, {o.mode}, {o.flow}: {o.passed} of {o.rounds}: {o.errors}"
            for o in self.outcomes
            if must_pass(o) and not o.is_passed and controls.get((o.library, o.mode, o.flow), True)
        ]

    def table(self) -> str:
        """Return rows of libraries, endpoints and modes with the passed rounds of each flow."""
        rows: dict[tuple[str, str, str], dict[str, str]] = {}
        for o in self.outcomes:
            rows.setdefault((o.library, o.mode, o.endpoint), {})[o.flow] = f"{o.passed}/{o.rounds}"
        head = f"{'library':16}{'mode':10}{'endpoint':15}" + "".join(f"{flow:15}" for flow in FLOWS)
        body = [
            f"{library:16}{mode:10}{endpoint:15}" + "".join(f"{cells.get(flow, '-'):15}" for flow in FLOWS)
            for (library, mode, endpoint), cells in rows.items()
        ]
        return "\n".join(line.rstrip() for line in [head, *body])

    def __str__(self) -> str:
        passed = sum(o.is_passed for o in self.outcomes)
        rounds = Counter[str]()
        for o in self.outcomes:
            rounds["all"] += o.rounds
            rounds["passed"] += o.passed
        return (
            f"{passed} of {len(self.outcomes)} combinations of {len(self.versions)} libraries, endpoints, modes and"
            f" flows pass, {rounds['passed']} of {rounds['all']} rounds, in {self.seconds:.0f} s;"
            f" {len(self.faults)} faults; {len(self.skipped)} libraries skipped"
        )


def must_pass(outcome: Outcome) -> bool:
    """Return True if the flow must pass, wherever it passes on anvil."""
    # No library hears all events around a restart; which are lost depends on the moment of its poll.
    if outcome.endpoint == CONTROL or outcome.flow == "restart":
        return False
    if outcome.mode == "automine" or outcome.endpoint == "/sealed":
        return True
    return outcome.endpoint == "/preconfirmed" and outcome.flow in SCRIPT_FLOWS


def run(
    plan: Plan,
    libraries: Sequence[Library] = LIBRARIES,
    shown: Callable[[Outcome], None] = lambda _: None,
    jobs: int = 2,
) -> Report:
    """Run `jobs` libraries at once, each at all endpoints and in all modes at once."""
    report, began = Report(), time.monotonic()

    def one(library: Library) -> list[Outcome]:
        try:
            command = library.command()
        except NotInstalled as reason:
            report.skipped[library.name] = str(reason)
            return []
        report.versions[library.name] = library.version
        with ThreadPoolExecutor(len(plan.modes)) as modes:
            results = [modes.submit(_run_mode, plan, library, command, mode) for mode in plan.modes]
            outcomes = [outcome for result in results for outcome in result.result()]
        for outcome in outcomes:
            shown(outcome)
        return outcomes

    with ThreadPoolExecutor(jobs) as pool:
        report.outcomes = [outcome for outcomes in pool.map(one, libraries) for outcome in outcomes]
    report.seconds = time.monotonic() - began
    return report


def _run_mode(plan: Plan, library: Library, command: list[str], mode: str) -> list[Outcome]:
    """Run all endpoints and flows in one mode."""
    groups = list(plan.groups(library, mode))
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(max(1, len(plan.endpoints) * len(groups))))
        results = []
        # Script flows and the others have different chains, so that no round waits for blocks of another flow.
        for kind, is_once in dict.fromkeys((group.chain, group.is_once) for group in groups):
            chains = stack.enter_context(_chains(plan, mode, kind))
            for index, (endpoint, chain) in enumerate(chains.items()):
                for group in groups:
                    if (group.chain, group.is_once) == (kind, is_once):
                        task = _Task.create(library.name, endpoint, mode, group, index, chain)
                        results.append(pool.submit(_run_task, plan, command, task))
        return [outcome for result in results for outcome in result.result()]


@contextmanager
def _chains(plan: Plan, mode: str, kind: ChainKind) -> Iterator[dict[str, Chain]]:
    """Run the nodes of a mode; yield chains by endpoint."""
    with ExitStack() as stack:
        chains: dict[str, Chain] = {}
        for endpoint in plan.endpoints:
            is_control = endpoint == CONTROL
            shared = next((chain for name, chain in chains.items() if name != CONTROL), None)
            if shared and kind is ChainKind.SHARED and not is_control:
                chains[endpoint] = shared
                continue
            if kind is ChainKind.RESTARTED:
                chains[endpoint] = stack.enter_context(restartable(mode, is_control=is_control))
                continue
            url = stack.enter_context(anvil_node(mode) if is_control else node(mode))
            chains[endpoint] = Chain(url)
            if kind is ChainKind.MINED:
                stack.enter_context(mined_by_another_client(url))
        yield chains


@dataclass(frozen=True, slots=True)
class _Task:
    library: str
    endpoint: str
    mode: str
    flows: tuple[str, ...]
    url: str
    account: int
    spender: int
    restart: Path | None
    """File by which the program requests a restart of the node."""

    @classmethod
    def create(cls, library: str, endpoint: str, mode: str, group: Group, index: int, chain: Chain) -> "_Task":
        """Return the task of a group at the endpoint with this index."""
        url = chain.url if endpoint == CONTROL else chain.url + endpoint.rstrip("/")
        first = index % len(ENDPOINTS) * ACCOUNTS
        account, spender = first + group.account, first + group.spender
        return cls(library, endpoint, mode, group.flows, url, account, spender, chain.restart)

    @property
    def name(self) -> str:
        return f"{self.library}-{self.endpoint.strip('/') or 'standard'}-{self.mode}-{'-'.join(self.flows)}"


def _run_task(plan: Plan, command: list[str], task: _Task) -> list[Outcome]:
    """Run the program of a library on some flows."""
    with recorded(task.url, plan.requests and plan.requests / f"{task.name}.jsonl") as url:
        variables = {
            "FORESEAL_URL": url,
            "LIBRARY_SOCKET_URL": task.url.replace("http", "ws", 1),
            "FORESEAL_KEY": key_of(DEV_ACCOUNTS[task.account]),
            "LIBRARY_SPENDER_KEY": key_of(DEV_ACCOUNTS[task.spender]),
            "LIBRARY_FLOWS": ",".join(task.flows),
            "LIBRARY_ROUNDS": str(plan.rounds),
            "FORESEAL_SEED": str(plan.seed + task.account),
            "LIBRARY_BLOCK_MS": str(AUTOMINE_MS if task.mode == "automine" else BLOCK_SECONDS * 1000),
            "LIBRARY_ROUND_MS": str(ROUND_MS + plan.watched_blocks * BLOCK_SECONDS * 1000),
            "LIBRARY_WATCHED_BLOCKS": str(plan.watched_blocks),
            "LIBRARY_CONTRACTS": str(CONTRACTS),
            "LIBRARY_RESTART": str(task.restart or ""),
        }
        ended = subprocess.run(
            command,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=_PROCESS_TIME,
            check=False,
        )
    outcomes = {flow: Outcome(task.library, task.endpoint, task.mode, flow) for flow in task.flows}
    patterns: dict[str, str] = {}
    for line in _without_root(ended.stdout).splitlines():
        if line.startswith('{"flow"'):
            flow_report = json.loads(line)
            outcomes[flow_report["flow"]].add(flow_report, patterns)
    for outcome in outcomes.values():
        if not outcome.rounds:
            error = f"the program printed no round: {_without_root(ended.stderr)[-400:]}"
            outcome.add({"ok": False, "error": error}, patterns)
    return list(outcomes.values())


def _without_root(output: str) -> str:
    """Return what a program printed, with paths relative to the repository."""
    return output.replace(f"file://{ROOT}/", "").replace(f"{ROOT}/", "")
