"""ASGI applications on separate ports, in a thread of the tests' process."""

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import uvicorn

from live import wait_for
from live.blocks import wait_for_block
from payments.x402.world import World


def sealed(world: World) -> None:
    """Wait until pre-confirmed transactions are in a block: stock software reads `latest`.

    The chain's clock must not be advanced for it, because payments are signed by the machine's clock.
    """
    wait_for_block(world.live.rpc, world.pending)


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application for the context and yield its URL."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, loop="asyncio", ws="none", log_level="error", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: server.started or not thread.is_alive(), 30, "the server")
        [listening] = server.servers[0].sockets
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
