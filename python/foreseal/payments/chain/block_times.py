"""Blocks by time."""

from foreseal.payments.chain.errors import Incomplete
from foreseal.payments.chain.node import ChainNode


def first_block_at(node: ChainNode, time: int, lowest: int) -> int:
    """Return the first block, from `lowest` on, whose timestamp is at least `time` in Unix seconds.

    If no block is that late, return the number after the newest block. Reads about log2 of the chain's length headers.
    Raises the node's errors, and `Incomplete` if the node no longer has the blocks around that time.
    """
    newest = node.head("pending") or node.head("latest")
    if newest is None:
        raise Incomplete("the node has no latest block")
    if newest.timestamp < time:
        return newest.number + 1
    earlier, later, missing = lowest - 1, newest.number, False
    while later - earlier > 1:
        middle = (earlier + later) // 2
        head = node.head(middle)
        if head is not None and head.timestamp >= time:
            later = middle
        else:
            earlier, missing = middle, head is None
    if missing:
        raise Incomplete(f"the node has no block {earlier}, so the first block of time {time} is unknown")
    return max(later, lowest)
