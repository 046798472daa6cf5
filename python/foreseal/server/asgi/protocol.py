"""Types of the ASGI protocol."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from foreseal.client_disconnect import Receive as Receive

AsgiMessage = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Send = Callable[[AsgiMessage], Awaitable[None]]
