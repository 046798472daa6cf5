"""Any input gets well-formed JSON-RPC or the right HTTP status. `make fuzz` runs the long form."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreseal.server import App, DevChain, Settings

from asgi_client import Answer, request
from bodies import LIMITS, bodies, check_answer
from fake_core import FakeNode

EXAMPLES = int(os.environ.get("FORESEAL_FUZZ", "300"))


class Served:
    """A started application and its event loop."""

    def __init__(self, app: App, runner: asyncio.Runner) -> None:
        self._app = app
        self._runner = runner

    def post(self, body: bytes, *, declared: bool = False) -> Answer:
        headers = {"content-length": str(len(body))} if declared else {}
        return self._runner.run(request(self._app, chunks=[body], headers=headers))


@contextmanager
def serving(app: App) -> Iterator[Served]:
    with asyncio.Runner() as runner:
        runner.run(app.startup())
        yield Served(app, runner)
        runner.run(app.shutdown())


@pytest.fixture(scope="module", params=["double", "core"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("chain")
    made = Settings(folder, limits=LIMITS, dev=DevChain())
    with serving(App(made, make_node=FakeNode if request.param == "double" else None)) as served:
        yield served


@pytest.mark.timeout(60 + EXAMPLES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=bodies, declared=st.booleans())
def test_random_body_gets_a_valid_response(served: Served, body: bytes, declared: bool) -> None:
    answer = served.post(body, declared=declared)
    check_answer(body, answer.status, answer.body)


def test_absurd_bodies_are_rejected_and_the_next_call_works() -> None:
    one = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
    absurd = [
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"[" + b",".join([one] * 100_000) + b"]",
        b" " * (50 * 1024 * 1024),
    ]
    statuses = []
    with serving(App(Settings(Path("unused")), make_node=FakeNode)) as served:
        for body in absurd:
            answer = served.post(body)
            statuses.append(answer.status if answer.status != 200 else answer.json["error"]["code"])
            assert served.post(one).status == 200
    assert statuses == [-32700, -32700, -32005, 413]
