"""A node under attack: it stays up, its memory stays flat, and honest clients are served."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from hostile.malformed.honest import Honest
from live import LiveNode
from repository import PYTHONPATH


@dataclass
class Summary:
    """Requests sent, and the state of node and honest clients."""

    malformed: int = 0
    held: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    lines: dict[str, Any] = field(default_factory=dict)
    honest: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: dict[str, dict[str, int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        p99 = ", ".join(f"{phase} {figures['p99 ms']} ms" for phase, figures in self.honest.items())
        memory = ", ".join(f"{moment} {figures['resident KB'] // 1024} MB" for moment, figures in self.memory.items())
        return (
            f"{self.malformed:,} malformed requests, {self.held:,} slow or half-open connections; honest p99: {p99}; "
            f"resident: {memory}; faults: {len(self.faults)}"
        )


class Campaign:
    """The phases of an attack on `node`, each with the measurements of honest clients."""

    def __init__(self, node: LiveNode, pids: list[int], seed: int) -> None:
        self.summary = Summary()
        self._node, self._pids, self._seed = node, pids, seed
        self._port = int(node.url.rpartition(":")[2])

    def run(self, malformed: int, held: int, *, rate: float, calm: float, seconds: float) -> Summary:
        """Run with `calm` seconds without an attack before and after, and `seconds` of held connections, twice."""
        honest = Honest(self._port)
        try:
            time.sleep(calm)
            honest.drain_delays()
            time.sleep(calm)
            self._note("before", honest)
            # Two rounds distinguish one-time growth from growth in every round.
            for turn, part in (("malformed", malformed - malformed // 4), ("malformed again", malformed // 4)):
                self._malform(part, rate)
                self._note(turn, honest)
            for turn in ("held", "held again"):
                self._hold(held, seconds)
                self._note(turn, honest)
            time.sleep(calm)
            honest.drain_delays()
            time.sleep(calm)
            self._note("after", honest)
        finally:
            honest.stop()
        self.summary.faults += honest.faults
        if self._node.process.poll() is not None:
            self.summary.faults.append(f"the node ended with {self._node.process.poll()}")
        if "panic" in self._node.printed:
            self.summary.faults.append("a method panicked")
        return self.summary

    def _malform(self, count: int, rate: float) -> None:
        self.summary.malformed += count
        told = self._child("attack", "--count", str(count), "--rate", str(rate), "--seed", str(self._seed))
        for answer, times in told["seen"].items():
            self.summary.answers[answer] = self.summary.answers.get(answer, 0) + times
        self.summary.faults += told["faults"]

    def _hold(self, count: int, seconds: float) -> None:
        self.summary.held += count
        self.summary.lines = self._child("hold", "--count", str(count), "--seconds", str(seconds))
        opened = self.summary.lines["opened"]
        if opened != count:
            self.summary.faults.append(f"only {opened} of {count} connections could be opened")

    def _child(self, module: str, *arguments: str) -> dict[str, Any]:
        command = [sys.executable, "-m", f"hostile.malformed.{module}", "--port", str(self._port), *arguments]
        environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
        done = subprocess.run(command, env=environment, capture_output=True, check=True)
        told: dict[str, Any] = orjson.loads(done.stdout.splitlines()[-1])
        return told

    def _note(self, moment: str, honest: Honest) -> None:
        self.summary.honest[moment] = honest.drain_delays()
        self.summary.memory[moment] = usage(self._pids)
        print(f"{moment}: {self.summary.honest[moment]} {self.summary.memory[moment]}", flush=True)


def usage(pids: list[int]) -> dict[str, int]:
    """Return resident size, descriptors and threads of processes together."""
    resident = descriptors = threads = 0
    for pid in pids:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        values = dict(line.split(":", 1) for line in lines)
        resident += int(values["RssAnon"].split()[0])
        threads += int(values["Threads"])
        descriptors += len(os.listdir(f"/proc/{pid}/fd"))
    return {"resident KB": resident, "descriptors": descriptors, "threads": threads}
