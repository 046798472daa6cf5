"""Transcript of one takeover: the last step that the old leader showed, and the first one of the new leader.

The leader is killed under load in the middle of a block. The standby continues the same block at the next index, with
the same hash chain and the same signer. A receipt from before is verified offline, and against the new leader.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
from benches.cluster.bench_nodes import PROGRAM, BenchNodes, bench_nodes
from benches.result_file import save

from cluster.campaign import signer_of_step
from cluster.observed_cluster import ObservedCluster
from cluster.recording import Recording, ShownStep
from foreseal.bench.provenance import read_provenance
from foreseal.cluster.node_process import NodeProcess
from foreseal.preconfirmation import contradiction, verify_preconfirmation
from transfer_accounts import CHAIN_ID

RESULT = Path(__file__).parents[1] / "results" / "takeover.json"
STEP_MS, RATE, SEED = 200, 50, 1
# Seconds, long enough that a takeover is over before the block is sealed.
BLOCK_TIME = 10
# Index from which the leader is killed, between these seconds of a block: the first block may begin late.
KILL_AFTER, EARLIEST, LATEST = 5, 1, 5
_TIMEOUT, _POLL = 60.0, 0.02


class TakeoverFailed(Exception):
    """The cluster did not do what the transcript needs."""


class Takeover:
    """A leader, a standby, a load, and everything that both showed."""

    def __init__(self, nodes: BenchNodes) -> None:
        self.recording = Recording()
        options = ("--step", f"{STEP_MS}ms", "--block-time", f"{BLOCK_TIME}s")
        self.old = nodes.sequencer("leader", options=options)
        self.new = nodes.sequencer("standby", standby=True, options=options)
        nodes.start(self.old, self.new)
        self._observed = ObservedCluster((self.old, self.new), nodes.etcd.endpoints, b"/foreseal/", self.recording)
        self.signer = str(self._observed.signer)
        self._observed.start_load([self.old.port, self.new.port], RATE, SEED)
        self.killed_at = 0.0

    def run(self) -> dict[str, Any]:
        """Kill the leader; return its receipt once the new leader shows a step. Raises TakeoverFailed.

        The receipt is that of a transaction in the newest step.
        """
        old = self._observed.readers[0]
        wait(
            lambda: (
                old.newest is not None
                and old.newest.index >= KILL_AFTER
                and EARLIEST <= time.time() % BLOCK_TIME <= LATEST
            ),
            "the leader shows no step",
        )
        newest = old.newest
        assert newest is not None, "it was waited for"
        receipt = self.old.call("foreseal_preconfirmation", newest.transactions[0])
        if receipt is None:
            raise TakeoverFailed(f"the leader returned no receipt of {newest.transactions[0]}")
        self.killed_at = time.monotonic()
        self.old.kill()
        wait(lambda: self.first_step() is not None, "the new leader shows no step")
        return dict(receipt)

    def stop(self) -> None:
        """Stop load, readers and watches."""
        self._observed.stop()

    def last_step(self) -> ShownStep:
        """Return the last step that the old leader showed."""
        return max((each for each in self._steps(self.old)), key=lambda each: each.position)

    def first_step(self) -> ShownStep | None:
        """Return the first step that the new leader showed of its own; None before."""
        return first_of_epoch(self.recording, self._steps(self.new), 2)

    def between(self) -> list[ShownStep]:
        """Return the steps after the old leader's last one that it had appended, but not shown."""
        first, last = self.first_step(), self.last_step()
        assert first is not None, "the new leader produces"
        return [each for each in self._steps(self.new) if last.position < each.position < first.position]

    def _steps(self, node: NodeProcess) -> list[ShownStep]:
        return [each for each in list(self.recording.steps) if each.process == node.name]


def first_of_epoch(recording: Recording, steps: list[ShownStep], epoch: int) -> ShownStep | None:
    """Return the first of these steps that an owner with this or a later epoch appended to the engine."""
    heads = sorted(recording.heads, key=lambda each: each.position)
    positions = [head.position for head in heads]
    for step in sorted(steps, key=lambda each: each.position):
        index = bisect_left(positions, step.position)
        if index < len(heads) and heads[index].epoch >= epoch:
            return step
    return None


def wait(condition: Callable[[], bool], problem: str) -> None:
    """Wait for a condition. Raises TakeoverFailed."""
    end = time.monotonic() + _TIMEOUT
    while not condition():
        if time.monotonic() > end:
            raise TakeoverFailed(f"{problem} within {_TIMEOUT:.0f} s")
        time.sleep(_POLL)


def chain_problems(last: ShownStep, between: list[ShownStep], first: ShownStep, signer: str) -> list[str]:
    """Return the reasons why the steps are not one chain of one block with one signer."""
    problems = []
    steps = [last, *between, first]
    for before, after in pairwise(steps):
        if after.previous != before.hash:
            problems.append(f"step {after.number}.{after.index} follows {after.previous}, not {before.hash}")
        if (after.number, after.index) != (before.number, before.index + 1):
            problems.append(
                f"step {after.number}.{after.index} is not the next one after {before.number}.{before.index}"
            )
    problems += [
        f"step {step.number}.{step.index} is signed by {signer_of_step(step)}, not by {signer}"
        for step in steps
        if signer_of_step(step).lower() != signer.lower()
    ]
    return problems


def show_step(title: str, step: ShownStep) -> None:
    """Print a step."""
    print(f"{title}\n  number    {step.number}\n  index     {step.index}\n  hash      {step.hash}")
    print(f"  previous  {step.previous}\n  signature {step.signature}\n  signer    {signer_of_step(step)} (recovered)")


def verify_with_cli(receipt: dict[str, Any], signer: str) -> tuple[int, str]:
    """Return exit code and output of `foreseal verify-receipt`."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(orjson.dumps(receipt))
        file.flush()
        options = ("--signer", signer, "--chain-id", str(CHAIN_ID))
        done = subprocess.run(
            (*PROGRAM, "verify-receipt", file.name, *options), capture_output=True, text=True, check=False
        )
    return done.returncode, done.stdout + done.stderr


def check_receipt(node: NodeProcess, receipt: dict[str, Any], signer: str) -> list[str]:
    """Verify a receipt of the old leader against the new one, and return the problems."""
    problems = []
    commitment = verify_preconfirmation(receipt, signer, chain_id=CHAIN_ID)
    again = node.call("foreseal_preconfirmation", commitment.transaction_hash)
    if again is None:
        return [f"{node.name} has no pre-confirmation of {commitment.transaction_hash}"]
    now = verify_preconfirmation(again, signer, chain_id=CHAIN_ID)
    print(f"  {node.name} includes the transaction in step {now.number}.{now.index} {now.hash}, signed by {now.signer}")
    if (now.number, now.transaction_index) != (commitment.number, commitment.transaction_index):
        problems.append(f"{node.name} has the transaction at {now.number}.{now.transaction_index}")
    if (evidence := contradiction(receipt, again)) is not None:
        problems.append(f"the receipts of both leaders contradict each other: {evidence.contradiction}")
    return problems


def transcribe(takeover: Takeover) -> tuple[dict[str, Any], list[str]]:
    """Run the takeover and print its transcript; return figures and problems."""
    receipt = takeover.run()
    last, between, first = takeover.last_step(), takeover.between(), takeover.first_step()
    assert first is not None, "the takeover is complete"
    owners = {each.epoch: each for each in takeover.recording.owners}
    fence_ms = round((owners[2].at - takeover.killed_at) * 1000) if 2 in owners else None
    step_ms = round((first.at - takeover.killed_at) * 1000)
    show_step(f"last step that {takeover.old.name} showed", last)
    print(f"kill -9 of {takeover.old.name}; fence held by {takeover.new.name} after {fence_ms} ms")
    for step in between:
        show_step(f"appended by {takeover.old.name}, first shown by {takeover.new.name}", step)
    show_step(f"first step of {takeover.new.name}, after {step_ms} ms", first)
    problems = chain_problems(last, between, first, takeover.signer)
    code, shown = verify_with_cli(receipt, takeover.new.call("foreseal_status")["signer"])
    print(
        f"foreseal verify-receipt, of a receipt of {takeover.old.name}, with the signer of {takeover.new.name}: {code}"
    )
    print("  " + shown.strip().replace("\n", "\n  "))
    problems += [] if code == 0 else ["the receipt is invalid"]
    problems += check_receipt(takeover.new, receipt, takeover.signer)
    steps = {"last": last, "between": between, "first": first}
    return {
        **steps,
        "fence_ms": fence_ms,
        "first_step_ms": step_ms,
        "signer": takeover.signer,
        "receipt": shown,
    }, problems


def main() -> int:
    """Print the transcript; return 1 if the block was not continued."""
    parser = argparse.ArgumentParser(prog="python -m benches.cluster.takeover_transcript", description=__doc__)
    parser.add_argument("--etcd", help="program of the etcd members; default: etcd on the PATH")
    parser.add_argument("--save", type=Path, help=f"result file, such as {RESULT}")
    given = parser.parse_args()
    with bench_nodes(given.etcd) as nodes:
        takeover = Takeover(nodes)
        try:
            figures, problems = transcribe(takeover)
        finally:
            takeover.stop()
        version = nodes.etcd.version_text
    for problem in problems:
        print(f"problem: {problem}")
    print("same block, hash chain and signer" if not problems else "the block was not continued")
    if given.save:
        command = "python -m benches.cluster.takeover_transcript"
        save(read_provenance(command, ()) | {"etcd": version, "problems": problems, **figures}, given.save)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
