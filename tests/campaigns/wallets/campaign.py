"""All combinations of wallets and operations, each wallet on a chain and database of its own."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wallets.catalog import NOT_COMBINED, OPERATIONS, reason_against
from wallets.kinds import KINDS
from wallets.market import Market
from wallets.trial import MAX_BLOCKS, Trial, Trials


@dataclass(slots=True)
class Report:
    """Outcome of all combinations."""

    trials: list[dict[str, Any]] = field(default_factory=list)
    not_combined: dict[str, str] = field(default_factory=lambda: dict(NOT_COMBINED))
    """Reasons by combination."""
    answers: Counter[str] = field(default_factory=Counter)
    """Combinations by answer."""
    most_gas: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def add(self, trial: Trial) -> None:
        self.trials.append(trial.row())
        self.answers[trial.answer] += 1
        self.most_gas = max(self.most_gas, trial.gas.gas)
        self.faults += [f"{trial}"] if trial.violations else []

    def __str__(self) -> str:
        accepted = self.answers["accepted"]
        return (
            f"{len(self.trials)} combinations of wallets, operations and entrances in {self.seconds:.0f} s:"
            f" {accepted} accepted, {len(self.trials) - accepted} rejected or deferred with {len(self.answers) - 1}"
            f" different answers; at most {self.most_gas} gas for one operation; {len(self.not_combined)} combinations"
            f" make no sense; {len(self.faults)} with violations (next payment within {MAX_BLOCKS} blocks)"
        )


@contextmanager
def market(*, is_batched: bool) -> Iterator[Market]:
    """Provide a market on a new chain and SQLite database."""
    with tempfile.TemporaryDirectory(prefix="foreseal-wallets-") as folder:
        # The clients and the facilitator schemes of the package x402 read the clock of this machine.
        made = Market(f"sqlite:///{folder}/pay.db", Path(folder), int(time.time()), is_batched=is_batched)
        try:
            yield made
        finally:
            made.close()


def run(
    wallets: Sequence[str], names: Sequence[str] | None = None, shown: Callable[[Trial], None] = lambda _: None
) -> Report:
    """Run the combinations of these wallets with all operations, or with those of these names."""
    report, began = Report(), time.monotonic()
    for wallet in wallets:
        for is_batched in (False, True):
            with market(is_batched=is_batched) as made:
                trials = Trials(made, is_batched=is_batched)
                for operation in OPERATIONS:
                    if names is not None and operation.name not in names:
                        continue
                    reason = reason_against(operation, KINDS[wallet], is_batched=is_batched)
                    if reason is not None:
                        contract = " with the batch capture contract" if is_batched else ""
                        report.not_combined[f"{wallet} x {operation.name} at {operation.entrance}{contract}"] = reason
                        continue
                    trial = trials.run(wallet, operation)
                    shown(trial)
                    report.add(trial)
    report.seconds = time.monotonic() - began
    return report
