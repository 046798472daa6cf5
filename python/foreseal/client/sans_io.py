"""Calls without I/O (sans-IO), so that one implementation serves the blocking and the asyncio client.

A flow is a generator that yields effects (a transport's `exchange`, a link's `receive`, `sleep`) and receives their
results or errors. `run` calls the effects, `run_async` awaits them.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Effect(NamedTuple):
    """A call that a flow requests: of a plain function, or of a coroutine function under asyncio."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


Flow = Generator[Effect, Any, T]
"""A generator that yields effects and returns a result."""


def perform(function: Callable[..., Any], *arguments: Any) -> Flow[Any]:
    """Perform one effect and return its result."""
    return (yield Effect(function, arguments))


def run(flow: Flow[T]) -> T:
    """Run a flow whose effects are plain functions."""
    try:
        effect = next(flow)
        while True:
            try:
                result = effect.function(*effect.arguments)
            except BaseException as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(result)
    except StopIteration as end:
        value: T = end.value
        return value


async def run_async(flow: Flow[T]) -> T:
    """Run a flow whose effects are coroutine functions."""
    try:
        effect = next(flow)
        while True:
            try:
                result = await effect.function(*effect.arguments)
            except BaseException as error:
                effect = flow.throw(error)
            else:
                effect = flow.send(result)
    except StopIteration as end:
        value: T = end.value
        return value
