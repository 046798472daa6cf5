"""Common fixtures of the tests with a real node."""

import asyncio
import inspect
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from foreseal.server.sockets.listening import TRANSPORTS
from live import LiveNode, Rpc, live_node
from markers import needs

# Code that tests import, and an example project, which test_example_project.py runs.
collect_ignore = ["support"]
# Fixtures of several folders; one database server of a session serves them all.
pytest_plugins = ["payments.fixtures"]

# The default profile is deterministic, so that a failure points to the current change; `make properties` draws random
# cases.
settings.register_profile("gate", deadline=None, derandomize=True)
settings.register_profile("properties", max_examples=5000, deadline=None, derandomize=False, print_blob=True)
settings.load_profile("gate")

# A shell that starts this in the background ignores SIGINT, and every command under test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by what it needs."""
    for item in items:
        for name in needs(item):
            item.add_marker(name)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="module", params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    """Return each of the transports."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def node() -> Iterator[LiveNode]:
    """Run a development node with fast steps, for one module; it must stop with exit code 0."""
    with live_node() as node:
        yield node


@pytest.fixture(scope="module")
def rpc(node: LiveNode) -> Rpc:
    """Return a raw JSON-RPC client of that node."""
    return node.rpc
