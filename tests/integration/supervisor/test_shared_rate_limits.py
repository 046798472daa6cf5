"""Rates and keys of callers hold for the whole node, whichever worker receives a call."""

import os
import signal
from pathlib import Path

from foreseal.rpc.rate import Rate
from live.blocks import wait_for
from supervisor.processes import SECONDS, running

from access_doubles import KeyRing

BURST = 9


def test_workers_share_rate_limits_also_with_a_later_worker(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    key = ring.add("shop", rate=Rate(1, 3600), burst=BURST)
    with running(tmp_path) as group:
        clients = group.client_of_each()
        statuses = [
            client.status("eth_blockNumber", {"x-api-key": key}) for _ in range(3) for client in clients.values()
        ]
        assert statuses == [200] * 6
        victim = next(iter(clients))
        os.kill(victim, signal.SIGKILL)
        group.wait_for_log("process ready", 4)
        later = group.client_of_each()
        assert victim not in later
        statuses = [client.status("eth_blockNumber", {"x-api-key": key}) for _ in range(4) for client in later.values()]
        assert statuses == [200] * (BURST - 6) + [429] * 5


def test_a_revoked_key_is_rejected_by_every_worker(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    key = ring.add("shop")
    with running(tmp_path) as group:
        clients = group.client_of_each().values()
        assert {client.status("eth_blockNumber", {"x-api-key": key}) for client in clients} == {200}
        ring.keys.clear()
        ring.save()
        for client in clients:
            wait_for(
                lambda client=client: client.status("eth_blockNumber", {"x-api-key": key}) == 401, SECONDS, "refusal"
            )
