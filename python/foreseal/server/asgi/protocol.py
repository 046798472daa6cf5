"""Types of the ASGI protocol."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

AsgiMessage = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
