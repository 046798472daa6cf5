"""Rounds of the flows that each library runs, and their output: one line of JSON per round."""

import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

URL = os.environ["FORESEAL_URL"]
KEY = os.environ["FORESEAL_KEY"]
SPENDER_KEY = os.environ["LIBRARY_SPENDER_KEY"]
WATCHED_BLOCKS = int(os.environ["LIBRARY_WATCHED_BLOCKS"])
"""Number of blocks during which events are watched."""
ROUNDS = int(os.environ["LIBRARY_ROUNDS"])
BLOCK_SECONDS = int(os.environ["LIBRARY_BLOCK_MS"]) / 1000
# Seconds after the last event in which none may be repeated, and in which a missing one may arrive.
QUIET, LATE = 6.0, 20.0
LONGEST_ERROR = 400
# Longest pause between two events.
EVENT_PAUSE = 2.0

Round = Callable[[], None]
Flow = Callable[[], "Round | Sequence[Round]"]

random_moment = random.Random(int(os.environ["FORESEAL_SEED"])).random


def contract(name: str) -> tuple[list[dict[str, Any]], str]:
    """Return ABI and creation code of a contract of tests/support/contracts."""
    artifact = json.loads((Path(os.environ["LIBRARY_CONTRACTS"]) / f"{name}.json").read_text())
    return artifact["abi"], artifact["bytecode"]


def equal(got: object, expected: object, subject: str) -> None:
    """Raise AssertionError if the values differ."""
    if got != expected:
        raise AssertionError(f"{subject} is {got}, expected {expected}")


def until(poll: Callable[[], object]) -> None:
    """Poll until the result is true."""
    while not poll():
        time.sleep(0.1)


def run(flows: dict[str, Flow]) -> None:
    """Run the requested flows.

    A flow is a function that prepares it and returns its rounds: a function is one round that is repeated, a sequence
    is one round each.
    """
    for name in os.environ["LIBRARY_FLOWS"].split(","):
        try:
            made = flows[name]()
        # Any error of a library is a result.
        except Exception as error:
            report(name, 0, error)
            continue
        rounds = [made] * ROUNDS if callable(made) else made
        for number, each in enumerate(rounds, 1):
            time.sleep(random_moment() * BLOCK_SECONDS)
            try:
                each()
            except Exception as error:
                report(name, number, error)
            else:
                report(name, number, None)
    sys.stdout.flush()
    # Some libraries leave threads.
    os._exit(0)


def report(flow: str, number: int, error: Exception | None) -> None:
    """Print the line of a round."""
    text = None if error is None else " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_ERROR]
    print(json.dumps({"flow": flow, "round": number, "ok": error is None, "error": text}), flush=True)


def watch_events(newest: Callable[[], int], send: Callable[[int], str], poll: Callable[[], Sequence[str]]) -> None:
    """Send transactions with one event each until enough blocks have passed; check that each is heard once.

    `send` returns the hash of a submitted transaction, `poll` those of the events since the last call.
    """
    end = newest() + WATCHED_BLOCKS
    sent: list[str] = []
    heard: list[str] = []
    while not sent or newest() < end:
        sent.append(send(len(sent)))
        time.sleep(random_moment() * EVENT_PAUSE)
        heard += poll()
    deadline = time.monotonic() + LATE
    while not set(sent) <= set(heard) and time.monotonic() < deadline:
        time.sleep(0.1)
        heard += poll()
    time.sleep(QUIET)
    heard += poll()
    lost, repeated = len(set(sent) - set(heard)), len(heard) - len(set(heard))
    if lost or repeated:
        raise AssertionError(f"of {len(sent)} events {lost} lost and {repeated} heard again")
