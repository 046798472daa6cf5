"""Serves a double of the core on a free port: `python stream_process.py native|asgi|uvicorn JSON_OF_LIMITS`.

RPC methods: `publish` [kind, count, size] sends messages of this size to a kind of channel, one after the other.
`burst` [kind, count, size, times] sends as many at once, several times. `step` [count, size] makes steps. The process
prints its URL and, at the end, `stopped`.
"""

import asyncio
import json
import socket
import sys
import time
from pathlib import Path

import uvicorn

from foreseal.cli.entry import stop_quietly_from_now
from foreseal.rpc import Limits
from foreseal.server import App, Settings
from foreseal.server.runner import serve
from foreseal.server.websocket import connection

from fake_core import FakeNode

SERVER, LIMITS = sys.argv[1], Limits(**json.loads(sys.argv[2]))

# Time for the close of a connection whose client does not read, generous for a busy machine.
connection.CLOSE_TIME = 60.0

node = FakeNode()
app = App(Settings(Path("unused"), limits=LIMITS), make_node=lambda _: node)


@app.method("publish")
async def publish(kind: str, count: int, size: int) -> None:
    """Publish messages with the publication time in seconds and a number."""
    for number in range(count):
        node.publish(kind, json.dumps({"time": time.monotonic(), "number": number, "padding": "x" * size}))
        await asyncio.sleep(0.001)


@app.method("burst")
async def burst(kind: str, count: int, size: int, times: int) -> None:
    for time_ in range(times):
        numbers = range(time_ * count, (time_ + 1) * count)
        node.publish(kind, *(json.dumps({"number": number, "padding": "x" * size}) for number in numbers))
        await asyncio.sleep(0.001)


@app.method("step")
async def step(count: int, size: int) -> None:
    for _ in range(count):
        node.step(size)
        await asyncio.sleep(0.001)


def run_uvicorn() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        # Without the last option it waits at its stop for clients that do not read.
        config = uvicorn.Config(
            app, lifespan="on", log_level="critical", ws="websockets-sansio", timeout_graceful_shutdown=1
        )
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    stop_quietly_from_now()
    if SERVER == "uvicorn":
        run_uvicorn()
    else:
        serve(app, "127.0.0.1", 0, lambda url: print(url, flush=True), transport=SERVER)
    print("stopped", flush=True)
