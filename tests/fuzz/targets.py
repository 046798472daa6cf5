"""The decoders of the Python side: how each is called, and what must hold for whatever it is given."""

from collections.abc import Callable
from dataclasses import dataclass

from fuzz import codec, direct, edge, sender, settings


@dataclass(frozen=True)
class Target:
    """A decoder under test."""

    name: str
    longest: int
    """Bytes of the longest input that the long form makes."""
    run: Callable[[bytes], None]
    """Takes an input; raises where something does not hold."""
    stop: Callable[[], None] = lambda: None
    """Ends what the target shares between its runs."""


TARGETS = {
    target.name: target
    for target in (
        Target("rlp", 160, codec.run),
        Target("http", 600, edge.run_body, edge.stop),
        Target("head", 200, edge.run_head, edge.stop),
        Target("websocket", 400, edge.run_websocket, edge.stop),
        Target("stream", 600, direct.run_stream, edge.stop),
        Target("frames", 400, direct.run_frames),
        Target("settings", 60, settings.run),
        Target("sender", 300, sender.run, sender.stop),
    )
}
