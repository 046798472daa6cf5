"""`eth_sendRawTransactionSync` at a steady rate: correctness and latency of the receipts.

Every submission must get exactly one response, with its own receipt. On average, a transaction's step comes half a step
interval after its submission, at the latest one interval; the rest is the node's latency.
"""

import argparse
import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import uvloop
from benches.load.__main__ import served
from benches.load.lanes import Lane, fail_with, pace, quantiles, until
from benches.load.wallets import Signed, wallets
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

RESULT = Path(__file__).parents[1] / "results" / "sync_send.json"
METHOD = "eth_sendRawTransactionSync"
PATIENCE = 30


class Measurement:
    """One run on one node."""

    def __init__(self, port: int, rate: int, transactions: int) -> None:
        self.port, self.rate = port, rate
        # One connection per account. The node rejects nonce gaps, so earlier transactions must precede on the same
        # connection.
        senders = wallets(rate)
        turns = itertools.islice(itertools.cycle(senders), transactions)
        self.signed: list[Signed] = [sender.sign() for sender in turns]
        self.answers: dict[int, list[bytes]] = {number: [] for number in range(transactions)}
        self.answered: dict[int, float] = {}

    def _submission(self, lane: Lane, number: int) -> Callable[[], None]:
        body = self.signed[number].call(METHOD)

        def answered(answer: bytes) -> None:
            self.answered[number] = time.perf_counter()
            self.answers[number].append(answer)

        return lambda: lane.call(body, answered)

    async def measure(self) -> dict[str, Any]:
        """Submit all transactions, wait for all responses, and compare each with the chain."""
        fail_with(asyncio.current_task())
        lanes = [await Lane(self.port).open() for _ in range(self.rate)]
        send = [self._submission(lanes[number % self.rate], number) for number in range(len(self.signed))]
        due, late = await pace(self.rate, send)
        await until(lambda: len(self.answered) == len(send), PATIENCE)
        wrong = await self._compare(lanes[0])
        delays = [at - due[number] for number, at in self.answered.items()]
        return {"generator_late": quantiles(late), "answer": quantiles(delays), **wrong}

    async def _compare(self, lane: Lane) -> dict[str, int]:
        """Count responses that are missing, duplicate, errors, or different from the chain's receipt."""
        # Block numbers refer to sealed blocks only.
        last = await lane.request("eth_getBlockByNumber", "pending", False)
        while int(await lane.request("eth_blockNumber"), 16) < int(last["number"], 16):  # noqa: ASYNC110 (remote)
            await asyncio.sleep(0.05)
        counts: Counter[str] = Counter(dict.fromkeys(("missing", "twice", "errors", "wrong"), 0))
        places = set()
        for number, answers in self.answers.items():
            counts["missing"] += not answers
            counts["twice"] += len(answers) > 1
            for answer in map(orjson.loads, answers[:1]):
                if "error" in answer:
                    counts["errors"] += 1
                    print(answer["error"])
                    continue
                receipt = answer["result"]
                place = (receipt["blockNumber"], receipt["transactionIndex"])
                expected = await lane.request("eth_getTransactionByBlockNumberAndIndex", *place)
                # The hash of a step other than the block's last differs from the block's hash; all other fields are
                # final.
                kept = await lane.request("eth_getTransactionReceipt", self.signed[number].hash)
                kept = {**kept, "blockHash": receipt["blockHash"]} if isinstance(kept, dict) else kept
                right = receipt == kept and receipt["transactionHash"] == self.signed[number].hash
                right &= isinstance(expected, dict) and expected["hash"] == self.signed[number].hash
                counts["wrong"] += not right or place in places
                places.add(place)
        return dict(counts)


def measure(rate: int, step: int, transactions: int) -> dict[str, Any]:
    """Return the figures of one step interval (ms)."""
    options = ("--accounts", str(rate), "--step", f"{step}ms")
    with served("-m", "foreseal", "dev", "--port", "0", *options) as port:
        figures = uvloop.run(Measurement(port, rate, transactions).measure())
    good = not any(figures[name] for name in ("missing", "twice", "errors", "wrong"))
    return {"step_ms": step, "submissions": transactions, "rate_per_second": rate, **figures, "every_one_right": good}


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.load.sync_send", description=__doc__)
    parser.add_argument("--transactions", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=500, help="submissions a second")
    parser.add_argument("--steps", type=int, nargs="+", default=[200, 50], help="milliseconds")
    parser.add_argument("--save", type=Path, default=RESULT)
    given = parser.parse_args()
    results = [measure(given.rate, step, given.transactions) for step in given.steps]
    for result in results:
        print(json.dumps(result))
    command = (
        f"python -m benches.load.sync_send --transactions {given.transactions} --rate {given.rate} "
        f"--steps {' '.join(map(str, given.steps))}"
    )
    report = read_provenance(command, ("granian", "orjson", "uvloop")) | {"results": results}
    save(report, given.save)
    if not all(result["every_one_right"] for result in results):
        raise SystemExit("not every submission was answered once with its own receipt")


if __name__ == "__main__":
    main()
