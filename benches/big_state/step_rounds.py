"""Duration of steps filled with token transfers to random holders."""

import random
import statistics
from typing import Any

from benches.big_state.state_genesis import CHAIN_ID, TOKEN, holder
from benches.load.launched_node import LaunchedNode
from benches.optimism.step_rounds import PARTS, StepMetrics, read_step_metrics

from foreseal.bench import token
from foreseal.bench.chain_content import BenchAccount, TransferOrder, native

TRANSFER_GAS = 35_000
"""Gas of a token transfer to a holder, rounded up."""
STEPS_PER_BLOCK = 10
STEP = "2s"
"""Step interval: a step begins so long after the one before that a round's transactions are all in the pool."""
BLOCK_TIME = "20s"
"""A block has ten steps: each brings a tenth of its gas."""
_MAX_ATTEMPTS = 5


def transfers_per_step(gas_limit: int) -> int:
    """Return the number of transfers that fill one of ten steps of a block."""
    return gas_limit // STEPS_PER_BLOCK // TRANSFER_GAS


class StepRounds:
    """Rounds of one node: each sends the transfers of one step just after a step, and waits for the next."""

    def __init__(self, node: LaunchedNode, senders: list[BenchAccount], holders: int, seed: int = 1) -> None:
        self._node, self._senders, self._holders = node, senders, holders
        self._random = random.Random(seed)

    def run(self, transfers: int, rounds: int) -> dict[str, Any]:
        """Return medians over rounds in ms, after one that warms up. Raises RuntimeError if steps are torn."""
        step_times = [self._round(transfers) for _ in range(rounds + 1)][1:]
        totals = [each.steps.total * 1000 for each in step_times]
        return {
            "transfers": transfers,
            "rounds": rounds,
            "step_ms": round(statistics.median(totals), 2),
            "max_ms": round(max(totals), 2),
            "parts_ms": {
                name: round(statistics.median(each.parts[name] * 1000 for each in step_times), 2) for name in PARTS
            },
        }

    def _round(self, transfers: int) -> StepMetrics:
        for _ in range(_MAX_ATTEMPTS):
            # Its nonce comes before those of the step.
            (alone,) = self._senders[0].sign(CHAIN_ID, [native(holder(0))])
            raw = self._sign(transfers)
            self._node.send([alone.raw])
            self._node.wait_until_included()
            before = self._metrics()
            self._node.send(raw)
            self._node.wait_until_included()
            after = self._metrics()
            steps = after.steps.since(before.steps)
            if steps.count == 1:
                return StepMetrics(steps, {name: after.parts[name] - before.parts[name] for name in PARTS})
        raise RuntimeError(f"{transfers} transfers were in no single step in {_MAX_ATTEMPTS} attempts")

    def _sign(self, transfers: int) -> list[str]:
        share, more = divmod(transfers, len(self._senders))
        raw = []
        for number, sender in enumerate(self._senders):
            orders = [self._transfer() for _ in range(share + (number < more))]
            raw += [each.raw for each in sender.sign(CHAIN_ID, orders)]
        return raw

    def _transfer(self) -> TransferOrder:
        to = holder(self._random.randrange(self._holders))
        return TOKEN, 0, TRANSFER_GAS, token.transfer(to, 1)

    def _metrics(self) -> StepMetrics:
        return read_step_metrics(self._node.metrics())
