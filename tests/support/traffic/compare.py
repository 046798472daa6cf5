"""Compares a restarted node with its clients' earlier reads."""

from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Any, TypeVar

from live import Rpc
from traffic.record import Position, Record, Step, digest_of, position_of

# Calls per batch.
TOGETHER = 200

T = TypeVar("T")
Call = tuple[str, *tuple[Any, ...]]


def compare(rpc: Rpc, record: Record, faults: Record) -> int:
    """Compare the node with everything in `record`; differences go to `faults`.

    Return the number of compared items: steps, receipts of steps, blocks read alone, receipts and sealed blocks.
    """
    sealed = _compare_sealed(rpc, record, faults)
    compared = len(record.sealed)
    compared += _compare_steps(rpc, record, faults, sealed)
    compared += _compare_answers(rpc, record, faults, sealed)
    return compared + _compare_places(rpc, record, faults)


def check_reached(rpc: Rpc, record: Record, faults: Record) -> None:
    """Check that the pending block, its index and its hash are at least as new as the recorded ones."""
    status = rpc("foreseal_status")
    position = int(status["block"], 16), int(status["index"], 16)
    if position < record.newest:
        faults.fault("lost", f"the node is at {position}, a client had seen {record.newest}")
    seen = record.steps.get(position)
    if seen is not None and seen.hash != status["hash"]:
        faults.fault("changed", f"the node is at {position} {status['hash']}, a client had seen {seen.hash}")
    if record.newest != (0, 0) and status["pool"]["start"] != "lost in crash":
        faults.fault("pool", f"after a kill the pool's start is {status['pool']['start']!r}")


def _compare_sealed(rpc: Rpc, record: Record, faults: Record) -> dict[int, Step]:
    """Compare recorded sealed blocks; return the current sealed block of every recorded step."""
    latest = int(rpc("eth_blockNumber"), 16)
    numbers = {number for number, _ in record.steps} | {answer.minimum[0] for answer in record.answers.values()}
    numbers = {number for number in numbers if number <= latest} | set(record.sealed)
    sealed = {}
    calls = {number: ("eth_getBlockByNumber", hex(number), False) for number in sorted(numbers)}
    for number, block in zip(calls, _query(rpc, calls.values()), strict=True):
        if block is None:
            faults.fault("lost", f"sealed block {number}")
            continue
        sealed[number] = _step(block)
        if record.sealed.get(number, block["hash"]) != block["hash"]:
            faults.fault("changed", f"sealed block {number} was {record.sealed[number]}, is {block['hash']}")
    return sealed


def _compare_steps(rpc: Rpc, record: Record, faults: Record, sealed: dict[int, Step]) -> int:
    steps = sorted(record.steps.items())
    for (before, old), (after, new) in pairwise(steps):
        if before[0] == after[0] and new.transactions[: len(old.transactions)] != old.transactions:
            faults.fault("reordered", f"{after} does not begin with the transactions of {before}")
    answers = _query(rpc, (call for position, step in steps for call in _calls(position, step)))
    for (position, seen), (by_position, by_hash, receipts) in zip(steps, _groups(answers, 3), strict=True):
        for way, block in (("position", by_position), ("hash", by_hash)):
            if block is None:
                faults.fault("lost", f"{position} {seen.hash} by {way}")
            elif int(block["number"], 16) != position[0]:
                faults.fault("changed", f"{position} {seen.hash} by {way} is of block {block['number']}")
            else:
                _check_same(faults, f"{position} by {way}", seen, _step(block))
        if record.receipts.get(position) != digest_of(receipts):
            faults.fault("changed", f"receipts of {position}")
        _check_contained(faults, position, seen, sealed)
    return 2 * len(steps)


def _calls(position: Position, step: Step) -> Iterator[Call]:
    place = {"blockNumber": hex(position[0]), "flashblockIndex": hex(position[1])}
    yield "eth_getBlockByNumber", place, False
    yield "eth_getBlockByHash", step.hash, False
    yield "eth_getBlockReceipts", place


def _compare_answers(rpc: Rpc, record: Record, faults: Record, sealed: dict[int, Step]) -> int:
    positions = {step.hash: position for position, step in record.steps.items()}
    blocks = _query(rpc, (("eth_getBlockByHash", name, False) for name in record.answers))
    for (name, answer), block in zip(record.answers.items(), blocks, strict=True):
        seen = Step(name, answer.transactions)
        if block is None:
            faults.fault("lost", f"block {name}, read at {answer.minimum} or later")
            continue
        _check_same(faults, f"block {name}", seen, _step(block))
        _check_contained(faults, answer.minimum, seen, sealed)
        if name in positions and positions[name] < answer.minimum:
            faults.fault("mixed", f"{positions[name]} {name} came with a header of {answer.minimum}")
    return len(record.answers)


def _compare_places(rpc: Rpc, record: Record, faults: Record) -> int:
    calls: list[tuple[Any, ...]] = []
    for name, place in record.receipt_positions.items():
        calls.append(("eth_getTransactionReceipt", name))
        calls.append(("eth_getBlockByHash", place.block_hash, False))
    answers = _groups(_query(rpc, calls), 2)
    for (name, place), (receipt, block) in zip(record.receipt_positions.items(), answers, strict=True):
        if receipt is None:
            faults.fault("lost", f"the receipt of {name} at {place}")
        elif position_of(receipt)._replace(block_hash="") != place._replace(block_hash=""):
            faults.fault("changed", f"the receipt of {name} at {place}")
        if block is None:
            faults.fault("lost", f"block {place.block_hash} that the receipt of {name} named")
        elif block["transactions"][place.transaction_index : place.transaction_index + 1] != [name]:
            faults.fault("reordered", f"{name} is not at {place}")
    return len(record.receipt_positions)


def _check_same(faults: Record, what: str, seen: Step, now: Step) -> None:
    if now == seen:
        return
    missing = set(seen.transactions) - set(now.transactions)
    if missing:
        faults.fault("lost", f"{what}: transactions {sorted(missing)}")
    elif now.transactions != seen.transactions:
        faults.fault("reordered", f"{what}: {seen.transactions} is {now.transactions}")
    else:
        faults.fault("changed", f"{what}: {seen.hash} is {now.hash}")


def _check_contained(faults: Record, position: Position, seen: Step, sealed: dict[int, Step]) -> None:
    whole = sealed.get(position[0])
    if whole is not None and whole.transactions[: len(seen.transactions)] != seen.transactions:
        faults.fault("lost", f"sealed block {position[0]} does not begin with the transactions of {seen.hash}")


def _step(block: dict[str, Any]) -> Step:
    return Step(block["hash"], tuple(block["transactions"]))


def _query(rpc: Rpc, calls: Iterable[Call]) -> Iterator[Any]:
    for some in _groups(calls, TOGETHER):
        yield from rpc.batch(*some)


def _groups(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """Yield groups of `size` items, fewer at the end."""
    rest = iter(items)
    while group := tuple(islice(rest, size)):
        yield group
