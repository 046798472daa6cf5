"""A restart of the node while events are watched."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from libraries.python.flows import Round, until

RECONNECT = 15.0
"""Seconds in which a library may connect again."""


def restart_node() -> None:
    """Restart the node, and wait until it is ready."""
    file = Path(os.environ["LIBRARY_RESTART"])
    file.touch()
    until(lambda: not file.exists())


def watch_restart(send: Callable[[int], str], poll: Callable[[], Sequence[str]]) -> None:
    """Send one transaction with an event before a restart, one right after it, two later; check that each is heard.

    `send` returns the hash of a submitted transaction, `poll` those of the events since the last call.
    """
    sent: dict[str, list[str]] = {"before": [], "right after": [], "later": []}
    heard: list[str] = []

    def send_at(stage: str) -> None:
        sent[stage].append(send(sum(map(len, sent.values()))))

    def listen() -> None:
        deadline = time.monotonic() + RECONNECT
        while not {each for hashes in sent.values() for each in hashes} <= set(heard) and time.monotonic() < deadline:
            time.sleep(0.1)
            heard.extend(poll())

    send_at("before")
    listen()
    restart_node()
    send_at("right after")
    time.sleep(RECONNECT)
    send_at("later")
    send_at("later")
    listen()
    received = {stage: len(set(hashes) & set(heard)) for stage, hashes in sent.items()}
    repeated = len(heard) - len(set(heard))
    if repeated or any(received[stage] < len(hashes) for stage, hashes in sent.items()):
        counts = ", ".join(f"{received[stage]} of {len(hashes)} {stage}" for stage, hashes in sent.items())
        raise AssertionError(f"heard {counts}, and {repeated} again")


def named(name: str, each: Round) -> Round:
    """Name a round in its error: how it watches."""

    def one() -> None:
        try:
            each()
        # Any error of a library is a result.
        except Exception as error:
            raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error

    return one
