"""A development node, and the same node with benchmark content."""

from collections.abc import Iterator

import pytest
from benches.compare.perf import PerfSampler

from bench_shape import SHAPE, find_perf, quiet
from foreseal.bench.content_writer import ContentWriter, FilledNode
from foreseal.bench.node import BenchNode
from foreseal.bench.peers import KINDS, PeerProcess


@pytest.fixture(scope="module")
def started() -> Iterator[PeerProcess]:
    running = KINDS["foreseal"]()
    try:
        running.start()
        yield running
    finally:
        running.close()


@pytest.fixture(scope="module")
def node(started: PeerProcess) -> BenchNode:
    assert started.node is not None
    return started.node


@pytest.fixture(scope="module")
def filled(node: BenchNode) -> FilledNode:
    return ContentWriter(node, SHAPE).fill(quiet)


@pytest.fixture(scope="session")
def perf() -> PerfSampler:
    """Provide the sampler; skip where perf is missing or may not observe processes."""
    sampler = find_perf()
    if isinstance(sampler, str):
        pytest.skip(sampler)
    return sampler
