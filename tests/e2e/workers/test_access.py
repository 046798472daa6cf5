"""Callers of a node with workers: tiers, keys and rates hold at every worker, and rates for all of them together."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import Rpc, RpcFailure, wait_for
from live.rpc import JSON_TYPE
from workers.node import SECONDS, WorkersNode, workers_node

from access_doubles import KeyRing

BURST = 12
PLACE = "0x" + "ab" * 20
GAS_LEFT = [{"to": PLACE, "gas": hex(300_000_000)}, "latest", {PLACE: {"code": "0x5a60005260206000f3"}}]


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkersNode]:
    """Run a public node with a limit of calls per caller and hour."""
    options, values = ("--public", "--public-rate", "1/h"), {"access.public_burst": BURST}
    with workers_node(tmp_path_factory.mktemp("workers") / "data", 2, *options, values=values) as node:
        yield node


def status(rpc: Rpc, key: str | None, method: str, *params: object) -> int:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return rpc.post(body, JSON_TYPE if key is None else JSON_TYPE | {"X-API-Key": key}).status


def test_keys_and_rates_hold_at_every_worker(public: WorkersNode, tmp_path: Path) -> None:
    workers = public.each()
    # A caller without a key gets this many calls from all workers together.
    given = [status(rpc, None, "eth_chainId") for _ in range(BURST) for rpc in workers]
    assert given == [200] * BURST + [429] * BURST
    ring = KeyRing(Path(public.command[public.command.index("--datadir") + 1]))
    key = ring.add("shop")
    for rpc in workers:
        wait_for(lambda rpc=rpc: status(rpc, key, "eth_chainId") == 200, SECONDS, "key")
    assert [status(rpc, key, "eth_chainId") for _ in range(BURST) for rpc in workers] == [200] * 2 * BURST
    assert [status(rpc, key, "eth_getBlockReceipts", "latest") for rpc in workers] == [200, 200]
    ring.keys.clear()
    ring.save()
    for rpc in workers:
        wait_for(lambda rpc=rpc: status(rpc, key, "eth_chainId") == 401, SECONDS, "end of the key")


def test_public_callers_of_every_worker_have_the_lower_limits(tmp_path: Path) -> None:
    with workers_node(tmp_path / "data", 2, "--public") as node:
        for rpc in node.each():
            assert int(rpc("eth_call", *GAS_LEFT), 16) < 50_000_000
            with pytest.raises(RpcFailure, match="-32004"):
                rpc("eth_getBlockReceipts", "latest")
        assert int(node.sequencer("eth_call", *GAS_LEFT), 16) > 290_000_000
