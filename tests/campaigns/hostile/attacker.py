"""A process of hostile clients at nice 19: `python -m hostile.attacker FACTS --pattern NAME`."""

import argparse
import asyncio
import contextlib
import os
import resource
import sys
import time
from collections import Counter
from pathlib import Path

import orjson

from hostile.client import Client
from hostile.facts import HOSTILE_ACCOUNTS, Facts
from hostile.observer import tls_context
from hostile.patterns import PATTERNS
from hostile.signing import accounts

LONGEST = 600.0
"""Maximum seconds of a run."""


async def run(facts: Facts, name: str, addresses: int, seconds: float) -> Counter[str]:
    """Run a pattern from this many addresses for this many seconds."""
    seen: Counter[str] = Counter()
    deadline = time.monotonic() + seconds
    own = accounts("hostile", HOSTILE_ACCOUNTS)
    share = max(HOSTILE_ACCOUNTS // addresses, 1)
    tls = tls_context(facts)
    clients = []
    for number in range(addresses):
        begin = number * share % HOSTILE_ACCOUNTS
        client = Client(number, facts, own[begin : begin + share], deadline, seen)
        client.tls = tls
        clients.append(client)
    attack = PATTERNS[name].attack
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(asyncio.get_running_loop().time() + seconds):
            await asyncio.gather(*(attack(client) for client in clients))
    return seen


def main() -> int:
    """Attack the node described by the facts file; print counts and the process's own processor time."""
    parser = argparse.ArgumentParser(prog="python -m hostile.attacker")
    parser.add_argument("facts", type=Path)
    parser.add_argument("--pattern", choices=PATTERNS, required=True)
    parser.add_argument("--addresses", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    os.nice(19)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 65536), limit))
    facts = Facts.load(given.facts)
    print("ready", flush=True)
    begin = time.monotonic()
    seen = asyncio.run(run(facts, given.pattern, given.addresses, min(given.seconds, LONGEST)))
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    report = {
        "seconds": round(time.monotonic() - begin, 2),
        "processor": round(processor, 2),
        "seen": seen,
    }
    sys.stdout.buffer.write(orjson.dumps(report) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
