"""Calls without their input and output, so that one implementation serves the blocking and the asyncio client.

A flow is a generator: it yields effects (what is to be called: a transport's `exchange`, a link's `receive`, `sleep`)
and gets their results or errors back. `run` calls them, `run_async` awaits them.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Effect(NamedTuple):
    """A call that a flow wants made: of a plain function, or of a coroutine function under asyncio."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


Flow = Generator[Effect, Any, T]
"""Yields effects, returns a result."""


def perform(function: Callable[..., Any], *arguments: Any) -> Flow[Any]:
    """The result of one effect."""
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
