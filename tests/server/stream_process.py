"""Serves a double of the core on a free port: `python stream_process.py native|asgi|uvicorn JSON_OF_LIMITS`.

Over RPC, `publish` [kind, count, size] sends so many messages of so many bytes to a kind of channel, one after the
other, `burst` [kind, count, size, times] so many at once, several times, and `step` [count, size] makes so many steps.
The process prints its URL and, at the end, `stopped`.
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
from foreseal.server import App, Settings, connection
from foreseal.server.front import serve

from fake_core import FakeNode

SERVER, LIMITS = sys.argv[1], Limits(**json.loads(sys.argv[2]))

# A client that does not read gets this long to be told, also on a machine that is busy.
connection.CLOSE_TIME = 60.0

node = FakeNode()
app = App(Settings(Path("unused"), limits=LIMITS), make_node=lambda _: node)


@app.method("publish")
async def publish(kind: str, count: int, size: int) -> None:
    """Each message carries the time at which it was published, in seconds, and its number."""
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
        # Without the last one it waits, when it stops, for clients that do not read.
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
