"""Steps of the open block and progress of the chain."""

from typing import Any

from foreseal.top.fields import Fields
from foreseal.top.source import SourceError
from foreseal.top.steps import StepAddress, StepTotals, StepTracker, step_calls

LIMIT = 1000


class ScriptedChain:
    """Blocks as lists of gas used and transactions up to each step."""

    def __init__(self) -> None:
        self.blocks: dict[int, list[tuple[int, int]]] = {1: [(0, 0)]}
        self.fork = ""
        self.tracker = StepTracker()

    @property
    def open(self) -> int:
        return max(self.blocks)

    def add(self, gas: int, transactions: int) -> None:
        """Add a step with these transactions."""
        before = self.blocks[self.open][-1]
        self.blocks[self.open].append((before[0] + gas, before[1] + transactions))

    def seal(self) -> None:
        self.blocks[self.open + 1] = [(0, 0)]

    def sample(self) -> list[StepAddress]:
        """Let the tracker take a sample, and return the positions that it read."""
        index = len(self.blocks[self.open]) - 1
        hash = f"{self.open}.{index}{self.fork}"
        self.tracker.move(Fields({"block": hex(self.open), "index": hex(index), "hash": hash}))
        positions = self.tracker.positions()
        header = self.header() if self.tracker.needs_header else None
        results = [self.result(*call) for call in step_calls(positions)]
        self.tracker.accept(positions, results, header)
        return positions

    def header(self) -> Fields:
        fields = {"number": hex(self.open), "gasLimit": hex(LIMIT), "timestamp": hex(100), "baseFeePerGas": "0x7"}
        return Fields(fields)

    def result(self, method: str, params: Any) -> Any:
        position = params[-1]
        if isinstance(position, str):
            gas, transactions = self.blocks[int(position, 16)][-1]
        else:
            steps = self.blocks[int(position["blockNumber"], 16)]
            gas, transactions = steps[int(position["flashblockIndex"], 16)]
        return {"gasUsedRatio": [gas / LIMIT]} if method == "eth_feeHistory" else hex(transactions)

    @property
    def progress(self) -> tuple[float, int, int]:
        progress = self.tracker.progress
        return round(progress.gas), progress.transactions, progress.generation


def test_each_step_is_read_once_and_the_newest_again() -> None:
    chain = ScriptedChain()
    assert chain.sample() == [StepAddress(1, 0)]
    for _ in range(3):
        chain.add(100, 2)
    assert chain.sample() == [StepAddress(1, step) for step in (1, 2, 3)]
    assert chain.sample() == [StepAddress(1, 3)]
    block = chain.tracker.block
    assert block is not None
    assert (block.number, block.newest, block.gas_limit, block.base_fee) == (1, 3, LIMIT, 7)
    assert block.steps == {step: StepTotals(100.0 * step, 2 * step) for step in range(4)}


def test_progress_continues_over_sealed_blocks() -> None:
    chain = ScriptedChain()
    chain.sample()
    generation = chain.tracker.progress.generation
    chain.add(100, 1)
    chain.sample()
    assert chain.progress == (100, 1, generation)
    chain.add(50, 1)
    chain.seal()
    chain.add(300, 4)
    chain.seal()
    chain.add(7, 1)
    assert chain.sample() == [StepAddress(1, None), StepAddress(2, None), StepAddress(3, 0), StepAddress(3, 1)]
    assert chain.progress == (457, 7, generation)


def test_a_long_gap_starts_a_new_generation_and_reads_a_bounded_number_of_steps() -> None:
    chain = ScriptedChain()
    chain.sample()
    generation = chain.tracker.progress.generation
    for _ in range(20):
        chain.seal()
    for _ in range(50):
        chain.add(1, 1)
    positions = chain.sample()
    assert len(positions) == 16
    assert positions[-1] == StepAddress(21, 50)
    assert chain.tracker.progress.generation > generation


def test_withdrawn_steps_are_marked_until_replaced() -> None:
    chain = ScriptedChain()
    for gas in (10, 20, 30):
        chain.add(gas, 1)
    chain.sample()
    del chain.blocks[1][2:]
    chain.fork = "b"
    chain.sample()
    block = chain.tracker.block
    assert block is not None
    assert (block.withdrawn, chain.tracker.progress.withdrawn) == (frozenset({2, 3}), 2)
    chain.add(40, 1)
    chain.sample()
    block = chain.tracker.block
    assert block is not None
    assert (block.withdrawn, block.steps[2]) == (frozenset({3}), StepTotals(50.0, 2))


def test_step_with_another_hash_replaces_the_newest() -> None:
    chain = ScriptedChain()
    chain.add(10, 1)
    chain.sample()
    chain.blocks[1][1] = (90, 3)
    chain.fork = "b"
    chain.sample()
    block = chain.tracker.block
    assert block is not None
    assert (block.steps[1].transactions, chain.tracker.progress.withdrawn) == (3, 1)


def test_node_without_a_position_has_no_open_block() -> None:
    tracker = StepTracker()
    tracker.move(Fields({"block": None, "phase": "replaying"}))
    assert (tracker.block, tracker.positions(), tracker.needs_header) == (None, [], False)


def test_failed_and_malformed_results_leave_the_step_unread() -> None:
    for pair in (
        [SourceError("busy"), "0x1"],
        [{"gasUsedRatio": [0.5]}, SourceError("busy")],
        [{"gasUsedRatio": []}, "0x1"],
        [{"gasUsedRatio": ["\x1b"]}, "0x1"],
        [{"gasUsedRatio": [7]}, "0x1"],
        [None, "0x1"],
    ):
        chain = ScriptedChain()
        chain.tracker.move(Fields({"block": "0x1", "index": "0x0", "hash": "a"}))
        chain.tracker.accept([StepAddress(1, 0)], pair, chain.header())
        block = chain.tracker.block
        assert block is not None
        assert block.steps == {}
