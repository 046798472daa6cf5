"""Arbitrary bodies: the node responds properly and continues to produce blocks. `make fuzz` runs the long form."""

import os
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from live import LiveNode, Rpc, live_node
from live.blocks import pending_number, wait_for_block

from bodies import LIMITS, bodies, check_answer

EXAMPLES = int(os.environ.get("FORESEAL_FUZZ", "1000"))
SEED = int(os.environ.get("FORESEAL_SEED", "1"))


@pytest.fixture(scope="module")
def limited(transport: str) -> Iterator[LiveNode]:
    """Run a node with small limits that generated bodies reach."""
    values = {f"limits.{name}": getattr(LIMITS, name) for name in ("body", "batch", "depth", "response")}
    with live_node("--transport", transport, values=values) as node:
        yield node


def assert_still_running(node: LiveNode, rpc: Rpc) -> None:
    """Assert that the process is the same, is healthy and seals another block, and that no method panicked."""
    assert node.process.poll() is None
    assert rpc.request("GET", "/healthz").status == 200
    wait_for_block(rpc, pending_number(rpc))
    assert "panic" not in node.printed


@pytest.mark.timeout(60 + EXAMPLES)
def test_random_body_gets_a_valid_response_and_blocks_continue(limited: LiveNode) -> None:
    statuses: Counter[int] = Counter()

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(body=bodies)
    def send(body: bytes) -> None:
        answer = limited.rpc.post(body)
        check_answer(body, answer.status, answer.body)
        statuses[answer.status] += 1

    send()
    print(f"\n{statuses.total()} generated bodies (seed {SEED}), by status: {dict(statuses)}")
    assert statuses.total() >= EXAMPLES
    assert_still_running(limited, limited.rpc)


def test_a_batch_of_100_000_is_rejected(node: LiveNode, rpc: Rpc) -> None:
    # Batches of objects exceed the limit of values per body before that of batch entries.
    batch, values = {"limit": "batch", "max": 1000}, {"limit": "values", "max": 262_144}
    for entry, limit in ((b"1", batch), (b'{"jsonrpc":"2.0","id":1,"method":"x"}', values)):
        answer = rpc.post(b"[" + b",".join([entry] * 100_000) + b"]")
        error = answer.json()["error"]
        assert (answer.status, error["code"], error["data"]) == (200, -32005, limit)
    assert_still_running(node, rpc)


@pytest.mark.parametrize(("opening", "inner", "closing"), [("[", "", "]"), ('{"a":', "1", "}")])
@pytest.mark.parametrize("depth", [65, 250, 1024, 10_000, 500_000])
def test_deep_json_is_rejected(rpc: Rpc, opening: str, inner: str, closing: str, depth: int) -> None:
    deep = (opening * depth + inner + closing * depth).encode()
    for body in (deep, b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":' + deep + b"}"):
        answer = rpc.post(body)
        assert answer.status == 200
        assert answer.json()["error"]["code"] in (-32700, -32005)


def test_blocks_continue_after_deep_json(node: LiveNode, rpc: Rpc) -> None:
    assert_still_running(node, rpc)
