"""A worker reads a damaged page of the store that the sequencer has not read."""

from pathlib import Path

import pytest

from live import DEV_ACCOUNTS, RpcFailure, wait_for
from live.sending import Sender
from store_pages import damage
from workers.node import SECONDS, WorkersNode, workers_node

INPUT = b"\xab" * 600
# Number of polls after which a worker that reports itself unhealthy would have been replaced.
MANY_LOOKS = 4000


def status(node: WorkersNode) -> dict[str, object]:
    answer: dict[str, object] = node.sequencer("foreseal_status")
    return answer


def test_damage_that_a_worker_finds_stops_production(tmp_path: Path) -> None:
    with workers_node(tmp_path / "data", 2, "--store-scrub-rate", "0", values={"store.recent": 1}) as node:
        rpc = node.rpc()
        name = Sender(rpc, DEV_ACCOUNTS[0]).send(to="0x" + "77" * 20, gas=100_000, data=INPUT)
        receipt = wait_for(lambda: rpc("eth_getTransactionReceipt", name), SECONDS, "receipt")
        behind = int(receipt["blockNumber"], 16) + 3
        wait_for(lambda: int(rpc("eth_blockNumber"), 16) >= behind, SECONDS, "blocks")
        workers, pids = node.each(), node.pids("worker")
        damage(tmp_path / "data", INPUT)
        with pytest.raises(RpcFailure, match="damaged"):
            workers[0]("eth_getTransactionByHash", name)
        wait_for(lambda: node.sequencer.request("GET", "/healthz").status == 503, SECONDS, "red health")
        assert status(node)["phase"] == "failed"
        assert "fails its checksum" in str(status(node)["reason"])
        for worker in workers:
            wait_for(lambda worker=worker: worker.request("GET", "/healthz").status == 503, SECONDS, "red health")
        head = node.sequencer("eth_blockNumber")
        wait_for(lambda: int(str(status(node)["age"])) > MANY_LOOKS, SECONDS, "time")
        assert node.sequencer("eth_blockNumber") == head
        assert node.pids("worker") == pids
        for worker in workers:
            assert int(worker("eth_getBalance", "0x" + "77" * 20, "latest"), 16) == 0
