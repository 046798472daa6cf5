"""Reads the chain of a cluster after all faults healed."""

from cluster.recording import FinalChain, Recording
from foreseal.cluster.node_process import NodeProcess


def read_final_chain(leader: NodeProcess, recording: Recording) -> FinalChain | None:
    """Return the chain up to the newest sealed block of the leader, and cut the recording off there.

    Returns None if the leader showed no step. Blocks that it lacks are problems of the recording.
    """
    if not any(each.process == leader.name for each in recording.steps):
        recording.problems.append(f"{leader.name} showed no step")
        return None
    sealed = int(leader.call("eth_blockNumber"), 16)
    blocks = {}
    for number in range(1, sealed + 1):
        block = leader.call("eth_getBlockByNumber", hex(number), False)
        if block is None:
            recording.problems.append(f"{leader.name} has no block {number}")
            continue
        blocks[number] = block["hash"]
    # Steps after the last sealed block are cut off, so that the comparison has an end.
    recording.steps = [each for each in recording.steps if each.number <= sealed]
    end = max((each for each in recording.steps if each.number == sealed), key=lambda each: each.position)
    return FinalChain(sealed, end.index, blocks[sealed], blocks)
