"""Samples of real processes."""

from pathlib import Path

import pytest
from benches.compare.perf import PerfSampler
from benches.compare.profiler import Profiler

from foreseal.bench.errors import BenchError
from foreseal.bench.node import BenchNode, body
from workers.node import workers_node

LOAD = [body("eth_getBalance", "0x" + "11" * 20, "latest")]


def test_samples_of_a_node_with_workers_are_from_each_worker(perf: PerfSampler, tmp_path: Path) -> None:
    with workers_node(tmp_path / "data", 2) as running:
        node = BenchNode("foreseal", running.live.url)
        assert node.processes is not None
        members = node.processes.members()
        stacks = perf.sample(members, lambda: node.load(LOAD, 16, 1.0))
        node.close()
        workers = {f"process {pid}" for pid in running.pids("worker")}
    sampled = {stack[0].name.rpartition(", ")[2] for stack in stacks}
    assert len(workers) == 2
    assert workers <= sampled
    assert sampled <= {f"process {pid}" for pid in members}
    functions = {frame.name for stack in stacks for frame in stack if frame.module == "_core.abi3.so"}
    assert any("foreseal_rpc" in name or "_core::" in name for name in functions), functions


def test_node_elsewhere_cannot_be_profiled(perf: PerfSampler, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match=r"^no node has processes that this user can observe on this machine$"):
        Profiler(tmp_path, perf).check([BenchNode("far", "http://192.0.2.1:1")])
