"""Requests, retries, errors and pages of both clients, over a scripted transport without sockets."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from foreseal import merchant
from foreseal.merchant import AsyncMerchantClient, Backoff, MerchantClient, RetryPolicy
from foreseal.merchant.health import Health
from foreseal.merchant.types import PayoutPreview

URL = "http://shop.test/base/"
PROBLEM = {"code": "node_unreachable", "message": "no node", "argument": None, "reason": None}
BALANCE: dict[str, Any] = {"destinations": [], "faults": []}
DETAIL: dict[str, Any] = {"order": {}, "transactions": []}

Outcome = httpx.Response | httpx.TransportError


class Script:
    """A service that returns scripted outcomes, and a clock that only sleeping moves."""

    def __init__(self, *outcomes: Outcome) -> None:
        self.outcomes = list(outcomes)
        self.requests: list[httpx.Request] = []
        self.slept: list[float] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, httpx.TransportError):
            raise outcome
        return outcome

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("idempotency-key") for request in self.requests]

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        self.slept.append(seconds)

    def policy(self, **more: Any) -> RetryPolicy:
        backoff = Backoff(first=1.0, maximum=4.0)
        return RetryPolicy(backoff=backoff, clock=lambda: sum(self.slept), random=lambda: 1.0, **more)


Call = Callable[..., Any]


def call_blocking(script: Script, name: str, *arguments: Any, policy: dict[str, Any], **more: Any) -> Any:
    transport = httpx.MockTransport(script.answer)
    retries = script.policy(**policy)
    with MerchantClient(URL, "pay_key", retries=retries, sleep=script.sleep, transport=transport) as client:
        answer = getattr(client, name)(*arguments, **more)
        return list(answer) if inspect.isgenerator(answer) else answer


def call_async(script: Script, name: str, *arguments: Any, policy: dict[str, Any], **more: Any) -> Any:
    async def run() -> Any:
        transport = httpx.MockTransport(script.answer)
        retries = script.policy(**policy)
        async with AsyncMerchantClient(
            URL, "pay_key", retries=retries, sleep=script.sleep_async, transport=transport
        ) as client:
            answer = getattr(client, name)(*arguments, **more)
            return [each async for each in answer] if inspect.isasyncgen(answer) else await answer

    return asyncio.run(run())


@pytest.fixture(params=[call_blocking, call_async], ids=["blocking", "asyncio"])
def call(request: pytest.FixtureRequest) -> Call:
    def run(script: Script, name: str, *arguments: Any, **more: Any) -> Any:
        return request.param(script, name, *arguments, **({"policy": {}} | more))

    return run


def error(status: int, code: str = "not_allowed", **headers: str) -> httpx.Response:
    body = {"error": {"code": code, "message": "for people", "argument": "amount", "reason": "token_paused"}}
    return httpx.Response(status, json=body, headers=headers)


def test_request_has_path_key_and_body_without_absent_fields(call: Call) -> None:
    signed = DETAIL | {"capture_error": None}
    script = Script(httpx.Response(200, json=signed))
    assert call(script, "submit_order_signature", "a b", signature="0x12", idempotency_key="k") == signed
    (request,) = script.requests
    assert str(request.url) == "http://shop.test/base/v1/orders/a%20b/signature"
    assert (request.method, request.headers["authorization"], script.keys) == ("POST", "Bearer pay_key", ["k"])
    assert request.content == b'{"signature":"0x12"}'


def test_query_omits_absent_parameters(call: Call) -> None:
    script = Script(httpx.Response(200, json={"items": [], "next": None}))
    call(script, "list_orders", state="Used, captured", limit=3)
    assert dict(script.requests[0].url.params) == {"state": "Used, captured", "limit": "3"}
    assert script.keys == [None]


def test_each_post_has_a_new_key(call: Call) -> None:
    script = Script(*(httpx.Response(200, json=DETAIL) for _ in range(2)))
    for _ in range(2):
        call(script, "capture_order", "7")
    assert len(set(script.keys)) == 2
    assert None not in script.keys


def test_retries_have_the_same_key_and_growing_delays(call: Call) -> None:
    request = httpx.Request("POST", URL)
    failures = [httpx.ConnectError("no", request=request), httpx.ReadTimeout("slow", request=request), error(503)]
    script = Script(*failures, httpx.Response(200, json=DETAIL))
    assert call(script, "capture_order", "7") == DETAIL
    assert len(script.keys) == 4
    assert len(set(script.keys)) == 1
    assert script.slept == [1.0, 2.0, 4.0]


@pytest.mark.parametrize("status", [503, 409])
def test_longer_retry_after_is_respected(call: Call, status: int) -> None:
    script = Script(error(status, **{"retry-after": "9"}), httpx.Response(200, json=DETAIL))
    assert call(script, "capture_order", "7") == DETAIL
    assert script.slept == [9.0]


def test_retries_end_after_the_last_attempt(call: Call) -> None:
    script = Script(*(httpx.ConnectError("no") for _ in range(3)))
    with pytest.raises(merchant.NoServiceResponse, match="ConnectError") as raised:
        call(script, "capture_order", "7", policy={"attempts": 3}, idempotency_key="k")
    assert (raised.value.idempotency_key, script.slept) == ("k", [1.0, 2.0])


def test_no_attempt_starts_after_the_time_limit(call: Call) -> None:
    script = Script(error(503, "overloaded", **{"retry-after": "61"}))
    with pytest.raises(merchant.ServiceUnavailable) as raised:
        call(script, "capture_order", "7")
    assert (raised.value.code, script.slept) == ("overloaded", [])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, merchant.InvalidRequest),
        (401, merchant.AccessDenied),
        (403, merchant.AccessDenied),
        (404, merchant.ResourceNotFound),
        (409, merchant.StateConflict),
        (413, merchant.InvalidRequest),
        (422, merchant.RequestUnprocessable),
        (500, merchant.ServiceUnavailable),
    ],
)
def test_error_response_becomes_an_exception(call: Call, status: int, kind: type[merchant.RequestFailed]) -> None:
    script = Script(error(status))
    with pytest.raises(kind, match=f"{status} not_allowed: for people") as raised:
        call(script, "capture_order", "7", idempotency_key="k")
    failure = raised.value
    assert (failure.status, failure.code, failure.argument, failure.reason) == (
        status,
        "not_allowed",
        "amount",
        "token_paused",
    )
    assert (failure.message, failure.idempotency_key, script.slept) == ("for people", "k", [])


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (200, {"text": "<html>"}),
        (200, {"json": {"order": {}}}),
        (302, {"headers": {"location": "http://other.test"}}),
        (404, {"text": "nginx"}),
    ],
    ids=["text", "fields", "redirect", "proxy"],
)
def test_response_of_another_server_is_an_error(call: Call, status: int, content: Any) -> None:
    script = Script(httpx.Response(status, **content))
    with pytest.raises(merchant.InvalidServiceResponse):
        call(script, "get_order", "7")
    assert len(script.requests) == 1


def test_unavailable_proxy_is_retried(call: Call) -> None:
    script = Script(httpx.Response(502, text="bad gateway"), httpx.Response(200, json=BALANCE))
    assert call(script, "get_balance") == BALANCE


def test_unhealthy_service_is_a_result(call: Call) -> None:
    health: dict[str, Any] = dict.fromkeys(Health.__required_keys__, 0) | {"status": "unhealthy"}
    script = Script(httpx.Response(503, json=health))
    assert call(script, "get_health")["status"] == "unhealthy"
    assert script.slept == []


def test_iteration_follows_the_cursors(call: Call) -> None:
    pages = ({"items": [1, 2], "next": "c"}, {"items": [3], "next": None})
    script = Script(*(httpx.Response(200, json=page) for page in pages))
    assert call(script, "iter_refunds", order="7", limit=2) == [1, 2, 3]
    assert [dict(request.url.params) for request in script.requests] == [
        {"order": "7", "limit": "2"},
        {"order": "7", "limit": "2", "cursor": "c"},
    ]


def test_export_is_streamed_and_its_errors_raised(call: Call) -> None:
    assert "".join(call(Script(httpx.Response(200, text="kind,id\n")), "export_csv")) == "kind,id\n"
    with pytest.raises(merchant.AccessDenied, match="for people"):
        call(Script(error(401)), "export_csv")


@pytest.mark.parametrize("name", ["export_csv", "export_json_lines"])
def test_export_sends_its_period(call: Call, name: str) -> None:
    script = Script(httpx.Response(200, text="kind,id\n"))
    call(script, name, block_time_from=5, block_time_before=9)
    assert dict(script.requests[0].url.params) == {"block_time_from": "5", "block_time_before": "9"}


def test_preview_of_a_payout_accepts_no_key(call: Call) -> None:
    legs = [{"recipient": "0x" + "1" * 40, "amount": "5"}]
    shown = dict.fromkeys(PayoutPreview.__required_keys__)
    assert call(Script(httpx.Response(200, json=shown)), "preview_payout", recipients=legs) == shown
    with pytest.raises(TypeError, match="idempotency_key"):
        call(Script(), "preview_payout", recipients=legs, idempotency_key="k")


@pytest.mark.parametrize("id", ["", ".", "..", "a/b"])
def test_id_that_no_path_can_contain_is_rejected(call: Call, id: str) -> None:
    with pytest.raises(ValueError, match="must be an id"):
        call(Script(), "get_order", id)


def test_invalid_options_are_named() -> None:
    with pytest.raises(ValueError, match=r"^url: 'shop.test' must begin with"):
        MerchantClient("shop.test", "k")
    with pytest.raises(ValueError, match=r"^api_key must be"):
        MerchantClient(URL, "a\nb")
    with pytest.raises(ValueError, match=r"^attempts must be"):
        RetryPolicy(attempts=0)
    with pytest.raises(ValueError, match=r"^max_elapsed must"):
        RetryPolicy(max_elapsed=-1)


@pytest.mark.parametrize("key", ["", "a\n", "ä", "a" * 256])
def test_invalid_idempotency_key_is_named(call: Call, key: str) -> None:
    with pytest.raises(ValueError, match=r"^idempotency_key must have"):
        call(Script(), "capture_order", "7", idempotency_key=key)
