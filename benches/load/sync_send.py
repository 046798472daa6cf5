"""`eth_sendRawTransactionSync` at a steady rate: is every submission answered, once, with its own receipt, and when.

The step a transaction is in comes half a step after its submission on average and one step at the latest; what is above
that is the node's.
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

from foreseal.bench.origin import origin, save

RESULT = Path(__file__).parents[1] / "results" / "sync_send.json"
METHOD = "eth_sendRawTransactionSync"
PATIENCE = 30


class Measurement:
    """One run on one node."""

    def __init__(self, port: int, rate: int, transactions: int) -> None:
        self.port, self.rate = port, rate
        # One connection an account. A nonce gap is refused, so the one before must be answered, or on its way in front.
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
        """Submit all, wait for all answers, and compare each with the chain."""
        fail_with(asyncio.current_task())
        lanes = [await Lane(self.port).open() for _ in range(self.rate)]
        send = [self._submission(lanes[number % self.rate], number) for number in range(len(self.signed))]
        due, late = await pace(self.rate, send)
        await until(lambda: len(self.answered) == len(send), PATIENCE)
        wrong = await self._compare(lanes[0])
        delays = [at - due[number] for number, at in self.answered.items()]
        return {"generator_late": quantiles(late), "answer": quantiles(delays), **wrong}

    async def _compare(self, lane: Lane) -> dict[str, int]:
        """How many answers are missing, come twice, are errors, or are not the receipt that the chain has."""
        # A number names sealed blocks only.
        last = await lane.ask("eth_getBlockByNumber", "pending", False)
        while int(await lane.ask("eth_blockNumber"), 16) < int(last["number"], 16):  # noqa: ASYNC110 (asked afar)
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
                expected = await lane.ask("eth_getTransactionByBlockNumberAndIndex", *place)
                # The hash of a step that was not the block's last is not the block's: all else is the same for ever.
                kept = await lane.ask("eth_getTransactionReceipt", self.signed[number].hash)
                kept = {**kept, "blockHash": receipt["blockHash"]} if isinstance(kept, dict) else kept
                right = receipt == kept and receipt["transactionHash"] == self.signed[number].hash
                right &= isinstance(expected, dict) and expected["hash"] == self.signed[number].hash
                counts["wrong"] += not right or place in places
                places.add(place)
        return dict(counts)


def measure(rate: int, step: int, transactions: int) -> dict[str, Any]:
    """The figures of one step (ms)."""
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
    report = origin(command, ("granian", "orjson", "uvloop")) | {"results": results}
    save(report, given.save)
    if not all(result["every_one_right"] for result in results):
        raise SystemExit("not every submission was answered once with its own receipt")


if __name__ == "__main__":
    main()
