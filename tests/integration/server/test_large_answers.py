"""A large answer arrives whole over both transports, with its length, and the connection continues."""

import http.client

import orjson
import pytest

from live import LiveNode
from live.process import foreseal_command

# Stores a word at the start and at the end of 2 MiB of memory, and returns the memory.
SIZE = 2 << 20
CODE = f"0x60aa60005260bb62{SIZE - 32:06x}5262{SIZE:06x}6000f3"
TARGET = "0x00000000000000000000000000000000000c0de0"


@pytest.mark.parametrize("transport", ["native", "asgi"])
def test_large_answer_arrives_whole(transport: str) -> None:
    node = LiveNode([foreseal_command(), "dev", "--port", "0", "--transport", transport])
    try:
        line = http.client.HTTPConnection("127.0.0.1", int(node.url.rpartition(":")[2]), timeout=30)
        params = [{"to": TARGET}, "latest", {TARGET: {"code": CODE}}]
        body = orjson.dumps({"jsonrpc": "2.0", "id": "a b", "method": "eth_call", "params": params})
        expected = "0x" + f"{0xAA:064x}" + "00" * (SIZE - 64) + f"{0xBB:064x}"
        for _ in range(2):
            line.request("POST", "/", body, {"content-type": "application/json"})
            response = line.getresponse()
            answer = response.read()
            assert response.status == 200
            assert int(response.headers["content-length"]) == len(answer)
            assert orjson.loads(answer) == {"jsonrpc": "2.0", "id": "a b", "result": expected}
        line.close()
    finally:
        node.stop()
