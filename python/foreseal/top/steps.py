"""Steps of the open block, and progress of the chain, from small reads of single steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from foreseal.top.fields import Fields, quantity
from foreseal.top.source import SourceError

_MAX_NEW_STEPS = 16
"""Steps that one sample reads; more are skipped, oldest first."""
_MAX_SEALED = 4
_MAX_CELLS = 400
_CALLS_PER_STEP = 2

RpcCall = tuple[str, Sequence[Any]]


class StepAddress(NamedTuple):
    """A step by block number and index; without an index, the sealed block."""

    block: int
    step: int | None

    @property
    def param(self) -> Any:
        """Parameter that identifies it."""
        if self.step is None:
            return hex(self.block)
        return {"blockNumber": hex(self.block), "flashblockIndex": hex(self.step)}


@dataclass(frozen=True, slots=True)
class StepTotals:
    """Content of a block up to a step."""

    gas: float
    transactions: int


@dataclass(frozen=True, slots=True)
class OpenBlock:
    """The block under construction."""

    number: int
    gas_limit: int | None = None
    timestamp: int | None = None
    """Unix time at which it is sealed."""
    base_fee: int | None = None
    """In wei per gas."""
    newest: int | None = None
    """Index of the newest step."""
    steps: Mapping[int, StepTotals] = field(default_factory=dict)
    """Totals by index, of the steps that were read."""
    withdrawn: frozenset[int] = frozenset()
    """Indices of steps that were withdrawn and not yet replaced."""


@dataclass(frozen=True, slots=True)
class ChainProgress:
    """Gas and transactions since the start of the view; None while they are not contiguous."""

    gas: float = 0.0
    transactions: int = 0
    generation: int = 0
    """Changes when the progress cannot be compared with an earlier one."""
    withdrawn: int = 0
    """Steps that were withdrawn."""


class StepTracker:
    """Follows the open block from sample to sample."""

    def __init__(self) -> None:
        self.block: OpenBlock | None = None
        self.progress = ChainProgress()
        self._hash = ""
        self._position = StepAddress(0, 0)
        self._totals: StepTotals | None = None
        """Totals of the open block that the progress includes."""

    def move(self, status: Fields) -> None:
        """Accept a new position of the node, the result of `foreseal_status`."""
        number, index, hash = status.quantity("block"), status.quantity("index"), status.text("hash")
        if number is None or index is None:
            self.block, self._totals = None, None
            return
        block = self.block
        if block is None or number < block.number or number > block.number + _MAX_SEALED:
            self._restart(number, withdrawn=block is not None and number < block.number)
        elif number == block.number:
            self._withdraw(block, index, is_same=hash == self._hash)
        assert self.block is not None
        if number == self.block.number:
            self.block = replace(self.block, newest=index)
        self._hash = hash
        self._position = StepAddress(number, index)

    def positions(self) -> list[StepAddress]:
        """Return the positions to read next: blocks sealed meanwhile, then new steps of the open block."""
        if self.block is None:
            return []
        number, newest_step = self._position
        assert newest_step is not None
        sealed = [StepAddress(each, None) for each in range(self.block.number, number)]
        known = self.block.steps if number == self.block.number else {}
        new = [StepAddress(number, each) for each in range(max(0, newest_step + 1 - _MAX_CELLS), newest_step + 1)]
        missing = [each for each in new if each.step not in known]
        # The newest one is read again: a development chain may change it in place.
        newest = [] if missing else [StepAddress(number, newest_step)]
        return [*sealed, *(missing[-_MAX_NEW_STEPS:] or newest)]

    @property
    def needs_header(self) -> bool:
        """True if the header of the open block is not known."""
        return self.block is not None and (self._position.block != self.block.number or self.block.gas_limit is None)

    def accept(self, positions: Sequence[StepAddress], results: Sequence[Any], header: Fields | None) -> None:
        """Accept the results of `step_calls` for these positions, and the header of the pending block."""
        if self.block is None:
            return
        if self._position.block != self.block.number:
            self.block = OpenBlock(self._position.block, newest=self._position.step)
            is_new = True
        else:
            is_new = False
        if header and header.quantity("number") == self.block.number:
            self.block = replace(
                self.block,
                gas_limit=header.quantity("gasLimit"),
                timestamp=header.quantity("timestamp"),
                base_fee=header.quantity("baseFeePerGas"),
            )
        limit = self.block.gas_limit
        steps = dict(self.block.steps)
        sealed: list[StepTotals | None] = []
        for position, pair in zip(positions, _pairs(results), strict=True):
            totals = _totals(pair, limit)
            if position.step is None:
                sealed.append(totals)
            elif totals is not None:
                steps[position.step] = totals
        for index in sorted(steps)[:-_MAX_CELLS]:
            del steps[index]
        self.block = replace(self.block, steps=steps, withdrawn=self.block.withdrawn - set(steps))
        self._advance(sealed, is_new=is_new)

    def _advance(self, sealed: Sequence[StepTotals | None], *, is_new: bool) -> None:
        """Add what the chain has gained since the last sample to the progress."""
        assert self.block is not None
        newest = self.block.steps.get(-1 if self.block.newest is None else self.block.newest)
        before, self._totals = self._totals, newest
        parts = [*sealed, newest] if is_new else [newest]
        if before is None or None in parts:
            self.progress = replace(self.progress, generation=self.progress.generation + 1)
            return
        totals = [part for part in parts if part is not None]
        gas = sum(part.gas for part in totals) - before.gas
        transactions = sum(part.transactions for part in totals) - before.transactions
        if gas < 0 or transactions < 0:
            self.progress = replace(self.progress, generation=self.progress.generation + 1)
            return
        self.progress = replace(
            self.progress, gas=self.progress.gas + gas, transactions=self.progress.transactions + transactions
        )

    def _restart(self, number: int, *, withdrawn: bool) -> None:
        self.block, self._totals = OpenBlock(number), None
        self.progress = replace(self.progress, withdrawn=self.progress.withdrawn + withdrawn)

    def _withdraw(self, block: OpenBlock, index: int, *, is_same: bool) -> None:
        newest = -1 if block.newest is None else block.newest
        # A step that replaces one has another hash. A step without transactions keeps its index and its hash.
        first = index if index == newest and not is_same else index + 1
        withdrawn = {each for each in block.steps if each >= first}
        if withdrawn:
            steps = {each: totals for each, totals in block.steps.items() if each < first}
            self.block = replace(block, steps=steps, withdrawn=block.withdrawn | withdrawn)
            self.progress = replace(self.progress, withdrawn=self.progress.withdrawn + len(withdrawn))
            self._totals = None


def step_calls(positions: Sequence[StepAddress]) -> list[RpcCall]:
    """Return the calls that read positions. Their responses have a constant size."""
    calls: list[RpcCall] = []
    for position in positions:
        calls.append(("eth_feeHistory", ["0x1", position.param]))
        calls.append(("eth_getBlockTransactionCountByNumber", [position.param]))
    return calls


def _pairs(results: Sequence[Any]) -> list[Sequence[Any]]:
    return [results[at : at + _CALLS_PER_STEP] for at in range(0, len(results), _CALLS_PER_STEP)]


def _totals(pair: Sequence[Any], gas_limit: int | None) -> StepTotals | None:
    fees, count = pair
    if isinstance(fees, SourceError) or isinstance(count, SourceError) or gas_limit is None:
        return None
    ratios = fees.get("gasUsedRatio") if isinstance(fees, dict) else None
    ratio = ratios[-1] if isinstance(ratios, list) and ratios else None
    transactions = quantity(count)
    if not isinstance(ratio, int | float) or not 0 <= ratio <= 1 or transactions is None:
        return None
    return StepTotals(ratio * gas_limit, transactions)
