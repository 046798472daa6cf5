"""Reads the chain of a cluster after all faults healed."""

from cluster.recording import FinalChain, Recording
from foreseal.cluster.node_process import NodeProcess
from real_cluster import ask


def read_final_chain(leader: NodeProcess, sealed: int, recording: Recording) -> FinalChain | None:
    """Return the leader's chain up to a sealed block of which all readers have every step; cut the recording off there.

    Returns None if the leader showed no step. Blocks that it lacks are problems of the recording.
    """
    if not any(each.process == leader.name for each in recording.steps):
        recording.problems.append(f"{leader.name} showed no step")
        return None
    blocks = {}
    for number in range(1, sealed + 1):
        block = ask(leader, "eth_getBlockByNumber", hex(number), False)
        if block is None:
            recording.problems.append(f"{leader.name} has no block {number}")
            continue
        blocks[number] = block["hash"]
    # Steps after this block are cut off, so that the comparison has an end.
    recording.steps = [each for each in recording.steps if each.number <= sealed]
    end = max((each for each in recording.steps if each.number == sealed), key=lambda each: each.position)
    return FinalChain(sealed, end.index, blocks[sealed], blocks)
