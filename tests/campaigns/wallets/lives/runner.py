"""Runs of lives by seed: random steps, calm checks of the queues, and a comparison with the chain at the end."""

import contextlib
import gc
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from foreseal.payments.ledger import OrderState, TransitionNotAllowed
from foreseal.payments.orders.reconciler import NotExpired
from wallets.lives import checks
from wallets.lives.actions import ACTIONS
from wallets.lives.world import FINALITY, World
from wallets.paid_shop import PATHS

STEPS = 30
_CALM_EVERY = 15
_TWO_DAYS = 2 * 86_400


@dataclass(slots=True)
class LivesReport:
    """Outcome of many lives."""

    database: str
    lives: int = 0
    steps: int = 0
    counted: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    failed_seeds: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def add(self, other: "LivesReport") -> None:
        """Add the lives of another process at the same time."""
        self.lives += other.lives
        self.steps += other.steps
        self.counted = dict(sorted((Counter(self.counted) + Counter(other.counted)).items()))
        self.seconds = max(self.seconds, other.seconds)
        self.failed_seeds = sorted(self.failed_seeds + other.failed_seeds)
        self.faults += other.faults

    def __str__(self) -> str:
        rate = self.lives / max(self.seconds, 0.001)
        return (
            f"{self.lives} lives over {self.database}: {self.steps} steps in {self.seconds:.0f} s, {rate:.2f} lives a"
            f" second; {len(self.failed_seeds)} failed: seeds {self.failed_seeds}"
        )


def run(
    report: LivesReport, seeds: Iterable[int], new_url: Callable[[], str], shown: Callable[[str], object]
) -> LivesReport:
    """Run the lives of these seeds, and name the faults of each that failed."""
    counted, began = Counter(report.counted), time.monotonic()
    for seed in seeds:
        # The clients and the schemes of the package x402 read the clock of this machine.
        world = World(new_url(), seed, int(time.time()))
        try:
            faults = live(world, report)
        except Exception as error:  # an unexpected error is the fault of this life, and the others follow
            where = traceback.extract_tb(error.__traceback__)[-1]
            faults = [f"{type(error).__name__} at {where.name}, line {where.lineno}: {error}"]
        finally:
            world.close()
        counted += world.counted
        # A chain reserves a TiB of address space until it is collected, and a process has 128.
        del world
        gc.collect()
        report.lives += 1
        if faults:
            report.failed_seeds.append(seed)
            shown(f"seed {seed} failed; reproduce it: {_command(report, seed)}")
        for fault in faults:
            report.faults.append(f"seed {seed}: {fault}")
            shown(f"    {fault}")
    report.counted, report.seconds = dict(sorted(counted.items())), time.monotonic() - began
    return report


def _command(report: LivesReport, seed: int) -> str:
    return f"python -m wallets.lives --lives 1 --seed {seed} --database {report.database}"


def live(world: World, report: LivesReport) -> list[str]:
    """Live one life up to its first fault."""
    for step in range(STEPS):
        (action,) = world.draw.choices(list(ACTIONS), list(ACTIONS.values()))
        action(world)
        report.steps += 1
        faults = checks.after_step(world)
        if not faults and step % _CALM_EVERY == _CALM_EVERY - 1:
            faults = calm(world)
        if faults:
            return [f"step {step}, {action.__name__}: {fault}" for fault in faults]
    return [f"at the end: {fault}" for fault in [*calm(world), *end(world)]]


def calm(world: World) -> list[str]:
    """Remove all faults, and check that the next payments of an ordinary account are confirmed in time."""
    world.shop.node.losses.clear()
    for _ in range(checks.MAX_BLOCKS + 2):
        world.act(world.work)
        world.chain.mine()
    violations = checks.waiting(world)
    wallet, path = world.wallets[0], PATHS["exact"]
    before = checks.received(world)
    payment = world.paid.shop.payment(wallet.payer, path, world.demands[path])
    settled = world.paid.facilitator.settle(payment, payment.accepted)
    if not settled.success:
        return [*violations, f"the payment of an ordinary account was not settled: {settled.error_reason}"]
    for _ in range(checks.MAX_BLOCKS):
        world.chain.mine()
        world.act(world.work)
    if checks.received(world) <= before:
        violations.append(f"the payment of an ordinary account was not confirmed in {checks.MAX_BLOCKS} blocks")
    return violations


def _claim(world: World) -> int:
    """Claim the vouchers of all channels, and return what was received."""
    before = checks.received(world)
    try:
        world.paid.shop.claim()
    except RuntimeError:
        # The payer's code decided otherwise about a deposit that a reorganization undid: the channel is empty.
        if not world.counted["reorganizations"]:
            raise
        world.counted["claims undone by a reorganization"] += 1
    return checks.received(world) - before


def end(world: World) -> list[str]:
    """Complete everything in flight, and compare with the chain."""
    claimed = _claim(world)
    for _ in range(4):
        world.work()
        world.chain.mine(FINALITY + 1)
    world.chain.advance(_TWO_DAYS * 10)
    world.chain.mine(FINALITY + 1)
    for id in world.shop.in_state(*OrderState):
        with contextlib.suppress(NotExpired, TransitionNotAllowed):
            world.shop.progress.expire(id)
    for _ in range(2):
        world.work()
        world.chain.mine(FINALITY + 1)
    world.work()
    violations = checks.at_end(world)
    if claimed < checks.channel_goods(world) and not world.counted["reorganizations"]:
        violations.append(f"vouchers of {checks.channel_goods(world)} units were claimed for {claimed}")
    return violations
