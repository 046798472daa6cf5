"""Keys, a clock and an application for tests of access control."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from foreseal.rpc.rate import Rate
from foreseal.server import App, Settings
from foreseal.server.auth import keys
from foreseal.server.settings.access import AccessSettings

from asgi_client import started
from fake_core import FakeNode

NOW = 1_700_000_000


class Clock:
    """A clock in microseconds that tests advance."""

    def __init__(self) -> None:
        self.now = 5_000_000

    def __call__(self) -> int:
        return self.now


class FakeCaller:
    """A caller of the scheduler whose budget is exhausted for 1.5 s after any charge."""

    def __init__(self) -> None:
        self.used = 0
        self.running = 0

    def charge(self, now: int, used: int) -> int:
        self.used += used
        return 1_500_000 if self.used else 0


class KeyRing:
    """The file of keys of a data directory."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / keys.KEY_FILE
        self.keys: dict[str, keys.ApiKey] = {}

    def add(self, name: str, **more: Any) -> str:
        """Return the text of a new key."""
        key, text = keys.create_key(name, NOW, **more)
        self.keys[key.id] = key
        self.save()
        return text

    def save(self) -> None:
        """Write the file, replacing the previous one."""
        new = self.path.with_suffix(".new")
        new.write_bytes(keys.encode_keys(self.keys))
        new.replace(self.path)


def rated(public: str | int = 0, dedicated: str | int = 0, **more: Any) -> AccessSettings:
    """Return access settings with these rates, such as 10, and bursts of as many calls."""
    return AccessSettings(
        public_rate=Rate(int(public)),
        public_burst=int(public) or None,
        dedicated_rate=Rate(int(dedicated)),
        dedicated_burst=int(dedicated) or None,
        **more,
    )


@asynccontextmanager
async def running(folder: Path, clock: Clock | None = None, **settings: Any) -> AsyncIterator[tuple[App, FakeNode]]:
    """Start an application on a double of the node, with `folder` as its data directory."""
    node = FakeNode()
    app = App(Settings(datadir=folder, **settings), make_node=lambda _: node, clock=clock or Clock())
    async with started(app):
        yield app, node
