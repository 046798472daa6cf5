"""The process of the links: reads one command per line from standard input, and answers each with a line."""

import asyncio
import json
import sys
from typing import Any

from link_proxy.link import Link, LinkState


async def main() -> None:
    """Serve until standard input ends."""
    loop = asyncio.get_running_loop()
    links: dict[str, Link] = {}
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            answer = await execute(links, json.loads(line))
        except OSError as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


async def execute(links: dict[str, Link], request: dict[str, Any]) -> dict[str, Any]:
    """Execute one command."""
    name = request["name"]
    match request["command"]:
        case "add":
            links[name] = Link(request["target"])
            await links[name].start(request["port"])
            return {"port": links[name].port}
        case "set":
            links[name].set_state(LinkState(**request["state"]))
        case "reset":
            links[name].reset()
        case other:
            return {"error": f"unknown command {other}"}
    return {}


asyncio.run(main())
