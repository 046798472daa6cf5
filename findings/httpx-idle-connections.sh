#!/bin/sh
# When a client of httpx keeps a connection for the next request.
#
# A server counts its connections. Some requests wait for their answers, and ten short ones follow, one after the other.
#
# Versions: httpx 0.28.1 with httpcore 1.0.9, aiohttp 3.14.3.
# Run: sh findings/httpx-idle-connections.sh (needs Python 3.11). Exits with 1 if the output changes.
#
# Behaviour that is easy to guess wrong:
# * httpx keeps at most 20 idle connections by default (`max_keepalive_connections`). httpcore compares that number with
#   all connections of the pool, busy ones included. While more than 20 requests are in progress, a connection that
#   becomes idle is closed at once, even if it is the only idle one: each of the ten requests opens another. A service
#   that sends many webhooks pays for a TCP connection, and a TLS handshake, with each of them.
# * `max_keepalive_connections=100` keeps it, and so does aiohttp.
# * Each request asks each connection of the pool whether it is closed, twice, and polls the socket of each idle one.
#
# Output:
#
# requests in progress   client                              new connections for ten requests   checks a request
# 15                     httpx                               1                                  32
# 25                     httpx                               10                                 51
# 25                     httpx, max_keepalive_connections    1                                  52
# 25                     aiohttp                             1                                  -
set -eu
folder=$(mktemp -d)
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check httpx==0.28.1 httpcore==1.0.9 aiohttp==3.14.3
cat > connections.py <<'PYTHON'
import asyncio

import aiohttp
import httpx
from httpcore._async.connection import AsyncHTTPConnection

ROW = "{!s:22} {:35} {!s:34} {}"
checks = 0
is_closed = AsyncHTTPConnection.is_closed


def counted(connection):
    global checks
    checks += 1
    return is_closed(connection)


AsyncHTTPConnection.is_closed = counted


class Server:
    """Answers /short at once, and /long when it is told to."""

    def __init__(self):
        self.connections, self.waiting, self.end = 0, 0, asyncio.Event()

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if b"/long" in head:
                    self.waiting += 1
                    await self.end.wait()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def measure(busy, name, open_client, get):
    global checks
    server = Server()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    url = "http://127.0.0.1:%d" % listener.sockets[0].getsockname()[1]
    async with open_client() as client:
        long = [asyncio.ensure_future(get(client, url + "/long")) for _ in range(busy)]
        while server.waiting < busy:
            await asyncio.sleep(0.01)
        before = server.connections
        for _ in range(10):
            checks = 0
            await get(client, url + "/short")
        opened = server.connections - before
        last = checks
        server.end.set()
        await asyncio.gather(*long)
    listener.close()
    print(ROW.format(busy, name, opened, last or "-").rstrip())


async def get_httpx(client, url):
    await client.get(url)


async def get_aiohttp(client, url):
    async with client.get(url) as response:
        await response.read()


async def main():
    print(ROW.format("requests in progress", "client", "new connections for ten requests", "checks a request"))
    keeping = httpx.Limits(max_connections=100, max_keepalive_connections=100)
    await measure(15, "httpx", httpx.AsyncClient, get_httpx)
    await measure(25, "httpx", httpx.AsyncClient, get_httpx)
    await measure(25, "httpx, max_keepalive_connections", lambda: httpx.AsyncClient(limits=keeping), get_httpx)
    await measure(25, "aiohttp", aiohttp.ClientSession, get_aiohttp)


asyncio.run(main())
PYTHON
venv/bin/python connections.py > seen
sed -n '/^# requests in progress/,/^set -eu/s/^# //p' "$script" > expected
cat seen
diff expected seen
