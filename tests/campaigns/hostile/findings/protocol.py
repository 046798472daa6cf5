"""S3, S9, S12: confused identities, incomplete requests and lenient parsers."""

import contextlib
import tempfile
import time
from collections import Counter
from pathlib import Path

from foreseal.ports import next_free_port
from hostile.build import TRANSPORTS
from hostile.findings.finding import Bench, exchange
from hostile.signing import Account, accounts
from hostile.wire import Socket, call, chunked_head, head, post
from live.process import LiveNode
from live.rpc import Rpc

_SEGMENT = 0.15
"""Seconds between two segments, so that the server reads them one by one."""
_EFFECT_TIME = 2.0
_RECEIPTS = call("eth_getBlockReceipts", "latest")
_WRONG_KEY = "fs_" + "0" * 10 + "_" + "0" * 64


def identities(bench: Bench) -> None:
    """S3: a public and a keyed caller alternate on one connection, in chosen segments."""
    for transport in TRANSPORTS:
        with bench.node(*bench.build.transport_options(transport), keys=1) as (chain, _):
            key, port = chain.facts.keys[0], chain.facts.port
            for first, second, expected in ((None, key, [403, 200, 403]), (key, None, [200, 403, 200])):
                with Socket(port) as line:
                    seen = [_one_segment(line, first), _two_segments(line, second), _one_segment(line, first)]
                name = "public, keyed, public" if first is None else "keyed, public, keyed"
                measured = f"eth_getBlockReceipts of {name} on one connection: {seen}, expected {expected}"
                bench.add("S3", f"{transport}, {name}", measured, is_open=seen != expected)


def _one_segment(line: Socket, key: str | None) -> int | None:
    line.send(post(_RECEIPTS, key))
    status = line.status()
    time.sleep(_SEGMENT)
    return status


def _two_segments(line: Socket, key: str | None) -> int | None:
    line.send(head(len(_RECEIPTS), key))
    time.sleep(_SEGMENT)
    line.send(_RECEIPTS)
    status = line.status()
    time.sleep(_SEGMENT)
    return status


def incomplete(bench: Bench) -> None:
    """S9: incomplete requests must have no effect; a submission reveals one."""
    for transport in TRANSPORTS:
        with bench.node(*bench.build.transport_options(transport)) as (chain, node):
            senders = accounts("hostile", 5)
            bodies = [call("eth_sendRawTransaction", sender.sign(0).raw) for sender in senders]
            cases = {
                "Content-Length longer than the body, then a close": (head(len(bodies[0]) + 10) + bodies[0], False),
                "Content-Length longer than the body, then a half-close": (head(len(bodies[1]) + 10) + bodies[1], True),
                "a whole chunk, then a broken chunk": (_chunk(bodies[2]) + b"zz\r\n!!\r\n\r\n", False),
                "a whole chunk without the last one, then a close": (_chunk(bodies[3]), False),
                "a whole chunk without the last one, then a half-close": (_chunk(bodies[4]), True),
            }
            for sender, (case, (data, half)) in zip(senders, cases.items(), strict=True):
                _send_incomplete(chain.facts.port, data, half_close=half)
                is_executed = _has_sent(node.rpc, sender)
                measured = "the transaction was accepted" if is_executed else "no effect"
                bench.add("S9", f"{transport}, {case}", measured, is_open=is_executed)


def _chunk(body: bytes) -> bytes:
    return chunked_head() + b"%x\r\n%b\r\n" % (len(body), body)


def _send_incomplete(port: int, data: bytes, *, half_close: bool) -> None:
    with contextlib.suppress(OSError), Socket(port, timeout=1.0) as line:
        line.send(data)
        time.sleep(0.3)
        if half_close:
            line.half_close()
            line.is_closed_within(1.0)


def _has_sent(rpc: Rpc, sender: Account) -> bool:
    end = time.monotonic() + _EFFECT_TIME
    while time.monotonic() < end:
        if int(rpc("eth_getTransactionCount", sender.address, "pending"), 16):
            return True
        time.sleep(0.1)
    return False


def lenient(bench: Bench) -> None:
    """S12: keys without a limit, two hosts, bare line feeds, bad WebSocket keys, any origin."""
    body = call("eth_blockNumber")
    for transport in TRANSPORTS:
        options = bench.build.transport_options(transport)
        with bench.node(*options) as (chain, _):
            port = chain.facts.port
            _wrong_keys(bench, transport, port)
            other = "127.0.0.3"
            plain = head(len(body)) + body
            twice = plain.replace(b"Host: localhost\r\n", b"Host: localhost\r\nHost: other.example\r\n")
            _expect(bench, f"{transport}, two Host lines", exchange(port, twice, other), (400,))
            bare = exchange(port, plain.replace(b"\r\n", b"\n"), other, 3.0)
            _expect(bench, f"{transport}, bare LF in a head", bare, (400, None))
            for case, key in (("too short", "AAAA"), ("no base64", "!" * 24), ("missing", None)):
                answer = exchange(port, _upgrade(key), other, 3.0)
                _expect(bench, f"{transport}, WebSocket key {case}", answer, (400, 426, None))
        _development(bench, transport, options)


def _upgrade(key: str | None) -> bytes:
    lines = [
        "GET / HTTP/1.1",
        "Host: localhost",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
    ]
    lines += [f"Sec-WebSocket-Key: {key}"] if key else []
    return "\r\n".join([*lines, "", ""]).encode()


def _wrong_keys(bench: Bench, transport: str, port: int) -> None:
    seen: Counter[int | None] = Counter()
    data = post(call("eth_blockNumber"), _WRONG_KEY)
    begin = time.monotonic()
    # The server may close a connection after its response, so each key uses a new one.
    while seen.total() < 3000 and time.monotonic() - begin < 40:
        answer = exchange(port, data, timeout=5.0)
        seen[answer.status if answer else None] += 1
    shown = ", ".join(f"{status or 'closed'}: {count}" for status, count in seen.most_common())
    bench.add("S12", f"{transport}, 3,000 wrong keys of one address", shown, is_open=not seen[429] and seen[401] > 0)


def _expect(bench: Bench, case: str, answer: object, expected: tuple[int | None, ...]) -> None:
    status = getattr(answer, "status", None)
    bench.add("S12", case, f"HTTP {status}" if status else "closed without an answer", is_open=status not in expected)


def _development(bench: Bench, transport: str, options: list[str]) -> None:
    """S12: two hosts and a foreign origin with the unlocked accounts of `foreseal dev`."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        command = [
            str(bench.build.executable),
            "dev",
            "--port",
            str(next_free_port()),
            "--datadir",
            str(Path(folder, "dev")),
        ]
        node = LiveNode([*command, *options])
        try:
            port = int(node.url.rpartition(":")[2])
            body = call("eth_accounts")
            plain = head(len(body)) + body
            hosts = [b"Host: attacker.example", b"Host: localhost"]
            for pair in (hosts, hosts[::-1]):
                data = plain.replace(b"Host: localhost", b"\r\n".join(pair))
                last = pair[1].partition(b": ")[2].decode()
                _expect(bench, f"{transport}, dev, two Host lines, {last} last", exchange(port, data), (400, 403))
            data = plain.replace(b"\r\n", b"\r\nOrigin: https://attacker.example\r\n", 1)
            answer = exchange(port, data)
            allowed = answer.headers.get("access-control-allow-origin") if answer else None
            measured = f"HTTP {answer.status if answer else None}, access-control-allow-origin: {allowed}"
            is_open = allowed in ("*", "https://attacker.example")
            bench.add("S12", f"{transport}, dev, page of another origin", measured, is_open=is_open)
        finally:
            node.kill()
