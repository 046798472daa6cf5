"""The load generator: response parser against llhttp (httptools), figures, transactions against eth-account."""

from typing import Any

import httptools
import orjson
import pytest
from eth_account import Account
from hypothesis import given
from hypothesis import strategies as st

from foreseal._core import Load, Responder, Subscribers, read_answer, sign_transactions

PLAN = {"connections": 4, "seconds": 0.2, "patience": 60.0, "rate": None, "once": False}

_LINES = ["Server: x", "content-type: application/json", "X-Y:", "Connection: keep-alive", "Date: now"]


def run(load: Load, bodies: list[bytes], **changes: Any) -> dict[str, Any]:
    figures: dict[str, Any] = orjson.loads(load.run(orjson.dumps(PLAN | changes), bodies, lambda done: None))
    return figures


class Llhttp:
    """The parse result of httptools for the same bytes."""

    def __init__(self, data: bytes) -> None:
        self.body, self.whole = b"", False
        self._parser = httptools.HttpResponseParser(self)
        self._parser.feed_data(data)
        self.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.whole = True


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Return a response by length or in chunks, with other header lines in any order."""
    body = draw(st.binary(max_size=300))
    lines = draw(st.lists(st.sampled_from(_LINES), max_size=4))
    if draw(st.booleans()):
        lines.append(draw(st.sampled_from(["Content-Length", "content-length"])) + f": {len(body)}")
        sent = body
    else:
        lines.append("Transfer-Encoding: chunked")
        sizes = draw(st.lists(st.integers(1, 100), min_size=1, max_size=6))
        sent, at = b"", 0
        while at < len(body):
            piece = body[at : at + sizes[at % len(sizes)]]
            sent += b"%x%b\r\n%b\r\n" % (len(piece), draw(st.sampled_from([b"", b";a=b"])), piece)
            at += len(piece)
        sent += b"0\r\n" + draw(st.sampled_from([b"", b"X-T: y\r\n"])) + b"\r\n"
    status = draw(st.sampled_from(["200 OK", "429 Too Many Requests", "503 "]))
    order = draw(st.permutations(lines))
    return "\r\n".join([f"HTTP/1.1 {status}", *order, "", ""]).encode() + sent


@given(answers(), st.data())
def test_response_is_parsed_like_llhttp_and_needs_every_byte(data: bytes, draws: st.DataObject) -> None:
    theirs = Llhttp(data)
    assert theirs.whole
    assert read_answer(data, False) == (theirs.status, theirs.body, len(data))
    cut = data[: draws.draw(st.integers(0, len(data) - 1))]
    assert read_answer(cut, False) is None
    if cut:
        with pytest.raises(ValueError, match="closed within a response"):
            read_answer(cut, True)


@given(answers(), st.data())
def test_changed_response_is_rejected_or_parsed_like_llhttp(data: bytes, draws: st.DataObject) -> None:
    at = draws.draw(st.integers(0, len(data) - 1))
    changed = data[:at] + bytes([draws.draw(st.integers(0, 255))]) + data[at + 1 :]
    try:
        ours = read_answer(changed, False)
    except ValueError:
        return
    try:
        theirs = Llhttp(changed)
    except httptools.HttpParserError:
        # llhttp also validates irrelevant parts: the reason phrase, characters of values, chunk extensions.
        return
    if ours is not None and ours[0] == theirs.status and theirs.whole:
        assert theirs.body.startswith(ours[1])


def test_closed_open_and_counted_runs_have_figures() -> None:
    responder = Responder()
    try:
        for websocket in (False, True):
            load = Load(responder.address(), "localhost", "/", websocket)
            closed = run(load, [b"{}"])
            assert closed["answered"] > 100
            assert (closed["errors"], closed["unanswered"], closed["first_wrong"]) == (0, 0, None)
            assert closed["smallest"] == closed["largest"] == closed["received"] / closed["answered"] > 0
            assert sum(count for _, count in closed["latency"]) == closed["answered"]
            assert run(load, [b"{}"], rate=50.0)["answered"] == 10
            assert run(load, [b"{}"] * 7, once=True, seconds=60.0)["answered"] == 7
    finally:
        responder.stop()
    with pytest.raises(OSError, match="cannot connect"):
        run(load, [b"{}"])


def test_unusable_argument_is_named() -> None:
    load = Load("127.0.0.1:1", "localhost", "/", False)
    for change, name in (({"connections": 0}, "connections"), ({"rate": 0.0}, "rate"), ({"seconds": -1.0}, "seconds")):
        with pytest.raises(ValueError, match=name):
            run(load, [b"{}"], **change)
    with pytest.raises(ValueError, match="plan: once has no rate"):
        run(load, [b"{}"], once=True, rate=1.0)
    with pytest.raises(ValueError, match="plan: unknown field"):
        run(load, [b"{}"], more=1)
    with pytest.raises(ValueError, match="bodies"):
        run(load, [])
    for arguments, name in ((("localhost", "a", "/"), "address"), (("127.0.0.1:1", "a b", "/"), "host")):
        with pytest.raises(ValueError, match=name):
            Load(*arguments, False)


def test_exception_of_the_progress_callback_ends_a_run() -> None:
    responder = Responder()
    try:

        def stop(done: int) -> None:
            raise KeyboardInterrupt

        load = Load(responder.address(), "localhost", "/", False)
        with pytest.raises(KeyboardInterrupt):
            load.run(orjson.dumps(PLAN | {"seconds": 60.0}), [b"{}"], stop)
    finally:
        responder.stop()


def test_every_subscription_is_confirmed_before_the_measurement() -> None:
    responder = Responder()
    try:
        subscribers = Subscribers(responder.address(), "localhost", "/", b"{}", 3, 60.0)
        heard = orjson.loads(subscribers.listen(1, 0.05, lambda done: None))
        assert (heard["notifications"], heard["ended"]) == (0, 0)
    finally:
        responder.stop()


@given(
    st.integers(1, 2**128),
    st.integers(1, 2**63),
    st.integers(0, 2**63),
    st.integers(0, 2**128 - 1),
    st.one_of(st.none(), st.binary(min_size=20, max_size=20)),
    st.binary(max_size=40),
)
def test_signed_transactions_equal_those_of_eth_account(
    key: int, chain: int, nonce: int, wei: int, to: bytes | None, data: bytes
) -> None:
    fields = {"type": 2, "chainId": chain, "nonce": nonce, "maxFeePerGas": 7, "maxPriorityFeePerGas": 3, "gas": 21_000}
    theirs = Account.sign_transaction(fields | {"to": to or "", "value": wei, "data": data}, key.to_bytes(32))
    order = (to, wei, 21_000, data)
    ours = sign_transactions(key.to_bytes(32), chain, (7, 3), nonce, [order])
    assert ours == [(bytes(theirs.raw_transaction), bytes(theirs.hash))]


def test_invalid_key_is_rejected() -> None:
    with pytest.raises(ValueError, match="key"):
        sign_transactions(bytes(32), 1, (1, 1), 0, [(None, 0, 21_000, b"")])
