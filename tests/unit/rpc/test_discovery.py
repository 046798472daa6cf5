"""Methods registered from Python are listed with the core's."""

import asyncio
from typing import Any

import orjson

from foreseal.rpc import Registry
from foreseal.rpc.call_router import CallRouter

from fake_core import FakeNode


def listed(registry: Registry, method: str) -> dict[str, object]:
    async def answered() -> Any:
        node = FakeNode()
        calls = CallRouter(node, registry, max_calls=10, forbidden={})
        calls.completions.attach(asyncio.get_running_loop())
        # Called twice: a later outcome must not be taken for that of the other call.
        outcomes = [calls.run(node, method, b"[]"), calls.run(node, method, b"[]")]
        first, second = [await outcome if isinstance(outcome, asyncio.Future) else outcome for outcome in outcomes]
        assert first == second
        calls.completions.detach()
        return first

    return dict(orjson.loads(asyncio.run(answered())))


def test_discovery_without_registered_methods_equals_that_of_the_node() -> None:
    assert listed(Registry(), "rpc_modules") == {"eth": "1.0"}
    assert [method["name"] for method in listed(Registry(), "rpc.discover")["methods"]] == ["eth_blockNumber", "echo"]  # type: ignore[attr-defined]


def test_registered_methods_are_listed_and_replace_those_of_the_node() -> None:
    registry = Registry()

    @registry.method("shop_price")
    def price(item: str, currency: str = "usd") -> int:
        return len(item + currency)

    @registry.method("echo")
    def echo() -> None: ...

    assert listed(registry, "rpc_modules") == {"eth": "1.0", "shop": "1.0", "echo": "1.0"}
    document = listed(registry, "rpc.discover")
    assert document["openrpc"] == "1.2.6"
    methods = {method["name"]: method for method in document["methods"]}  # type: ignore[attr-defined]
    assert list(methods) == ["eth_blockNumber", "shop_price", "echo"]
    assert methods["shop_price"]["params"] == [
        {"name": "item", "required": True, "schema": {}},
        {"name": "currency", "required": False, "schema": {}},
    ]
    assert methods["shop_price"]["result"] == {"name": "result", "schema": {}}
