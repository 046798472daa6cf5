"""Valid and invalid requests, and the ids of responses."""

from dataclasses import replace

import orjson
import pytest

from foreseal._core import Answered, Entrance, PendingBody
from foreseal.errors import RpcError
from foreseal.rpc.response_envelope import failure

from fake_core import LIMITS


def entered(body: bytes, depth: int = 64) -> bytes | PendingBody:
    """Return the response of an entrance without methods of its own, or the body whose calls are left to Python."""
    entrance = Entrance(replace(LIMITS, depth=depth))
    reply = entrance.respond(body)
    if isinstance(reply, Answered):
        response = reply.response
        assert isinstance(response, bytes)
        return response
    assert reply is not None
    return reply


def ident_in(response: bytes) -> bytes:
    """Return the text of the id in a response."""
    return response.removeprefix(b'{"jsonrpc":"2.0","id":').rpartition(
        b',"result":' if b'"result"' in response else b',"error":'
    )[0]


def read(body: bytes) -> tuple[bytes | None, str, bytes]:
    """Return id, method and params of a valid request."""
    pending = entered(body)
    assert isinstance(pending, PendingBody)
    assert pending.proceed()[:2] == ("call", 0)
    method, params = pending.request(0)
    pending.answer(0, b"1")
    response = pending.take_reply()
    if isinstance(response, Answered):
        assert (response.status, response.response) == (204, b"")
        return None, method, params
    assert response.endswith(b',"result":1}')
    return ident_in(response), method, params


def rejected(body: bytes) -> tuple[bytes | None, int]:
    """Return id and error code of an invalid request."""
    response = entered(body)
    assert isinstance(response, bytes)
    if not response:
        return None, 0
    [answer] = answers if isinstance(answers := orjson.loads(response), list) else [answers]
    return ident_in(response.strip(b"[]")), answer["error"]["code"]


@pytest.mark.parametrize(
    "ident",
    ["1", "0", "-7", '"a"', '""', '"\\u00e9"', "null", "1.5", "18446744073709551615", "-9223372036854775808"],
)
def test_id_is_echoed_unchanged(ident: str) -> None:
    echoed, method, params = read(b'{"jsonrpc":"2.0","id":%b,"method":"m","params":[1,"x"]}' % ident.encode())
    assert (orjson.loads(echoed), method, params) == (orjson.loads(ident), "m", b'[1,"x"]')


@pytest.mark.parametrize("ident", ["1e2", "1E+02", "-0", "1.0", "1.50", "2.5e-3", "1e400", "0.12345678901234567890"])
def test_number_is_echoed_as_it_was_written(ident: str) -> None:
    assert read(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % ident.encode())[0] == ident.encode()


@pytest.mark.parametrize(
    "ident",
    [
        "18446744073709551616",
        "-9223372036854775809",
        "{}",
        "[]",
        "[1]",
        "true",
        "false",
    ],
)
def test_id_that_cannot_be_echoed_is_rejected(ident: str) -> None:
    assert rejected(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % ident.encode()) == (b"null", -32600)


def test_missing_id_is_a_notification_and_params_are_optional() -> None:
    assert read(b'{"jsonrpc":"2.0","method":"m"}') == (None, "m", b"[]")


@pytest.mark.parametrize("version", [b"", b'"jsonrpc":"1.0",', b'"jsonrpc":2.0,', b'"jsonrpc":null,'])
def test_the_version_must_be_2_0(version: bytes) -> None:
    assert rejected(b'{%b"id":7,"method":"m"}' % version) == (b"7", -32600)


@pytest.mark.parametrize("method", [b"", b',"method":1', b',"method":null', b',"method":["m"]'])
def test_the_method_must_be_a_string(method: bytes) -> None:
    assert rejected(b'{"jsonrpc":"2.0","id":"x"%b}' % method) == (b'"x"', -32600)
    assert rejected(b'{"jsonrpc":"2.0"%b}' % method) == (b"null", -32600)


@pytest.mark.parametrize("params", [b"{}", b'{"a":1}', b"null", b'"x"', b"0", b"true"])
def test_params_must_be_an_array(params: bytes) -> None:
    assert rejected(b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}' % params) == (b"1", -32602)
    assert rejected(b'{"jsonrpc":"2.0","method":"m","params":%b}' % params) == (None, 0), "a notification has no answer"


@pytest.mark.parametrize("request_", [b"1", b'"x"', b"null", b"true", b"[]"])
def test_a_request_must_be_an_object(request_: bytes) -> None:
    assert rejected(b"[%b]" % request_) == (b"null", -32600)


def test_errors_contain_id_message_and_data() -> None:
    plain = orjson.loads(failure(b"1", RpcError(-32000, 'a "quoted" \n message', None)))
    assert plain == {"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": 'a "quoted" \n message'}}
    assert orjson.loads(failure(b"1", RpcError(3, "m", b'"0x"')))["error"]["data"] == "0x"


@pytest.mark.parametrize("depth", [1, 2, 63, 64, 65, 200])
def test_depth_is_measured_exactly(depth: int) -> None:
    arrays = b"[" * depth + b"]" * depth
    objects = b'[{"a":' * (depth // 2) + b"1" + b"}]" * (depth // 2)
    assert is_too_deep(arrays, depth - 1)
    assert not is_too_deep(arrays, depth)
    assert not is_too_deep(objects, depth)
    assert not is_too_deep(b'"[[["', 0)


def is_too_deep(body: bytes, depth: int) -> bool:
    response = entered(body, depth)
    assert isinstance(response, bytes)
    answers = orjson.loads(response)
    return isinstance(answers, dict) and answers["error"]["code"] == -32005
