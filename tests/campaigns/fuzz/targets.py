"""The Python decoders: how each is called, and its invariants for any input."""

from collections.abc import Callable
from dataclasses import dataclass

from fuzz import codec, direct, edge, sender, settings


@dataclass(frozen=True)
class Target:
    """A decoder under test."""

    name: str
    longest: int
    """Maximum size of generated inputs in the long form, in bytes."""
    run: Callable[[bytes], None]
    """Runs an input; raises if an invariant fails."""
    stop: Callable[[], None] = lambda: None
    """Closes the state that runs share."""


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
