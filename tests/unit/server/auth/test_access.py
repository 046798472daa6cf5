"""Allowed and rejected callers: over HTTP and WebSocket, alone and in batches, on a clock that tests move."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal.errors import NodeError
from foreseal.rpc import Limits
from foreseal.rpc.rate import UNLIMITED, Rate
from foreseal.server import App, Settings
from foreseal.server.settings.access import AccessSettings
from foreseal.server.settings.model import LogSettings
from foreseal.server.settings.public_limits import PublicLimits

from access_doubles import Clock, KeyRing, rated, running
from asgi_client import Answer, Closed, call, connect, metrics, request, until

RECEIPTS = call("eth_getBlockReceipts", "latest")
NUMBER = call("eth_blockNumber")


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return KeyRing(tmp_path)


async def post(app: App, body: Any, key: str | None = None, **headers: str) -> Answer:
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    return await request(app, chunks=[orjson.dumps(body)], headers=headers)


def codes(answer: Answer) -> list[int]:
    """Return the error code of each entry of a batch: 0 for a result."""
    return [entry.get("error", {}).get("code", 0) for entry in answer.json]


# Public endpoint or not, key, method -> HTTP status and error code.
TABLE = [
    (False, None, RECEIPTS, 200, 0),
    (False, "good", RECEIPTS, 200, 0),
    (False, "other", NUMBER, 401, -32004),
    (False, "revoked", NUMBER, 401, -32004),
    (False, "expired", NUMBER, 401, -32004),
    (False, "low", RECEIPTS, 403, -32004),
    (True, None, NUMBER, 200, 0),
    (True, None, RECEIPTS, 403, -32004),
    (True, "good", RECEIPTS, 200, 0),
    (True, "low", NUMBER, 200, 0),
    (True, "low", RECEIPTS, 403, -32004),
    (True, "other", NUMBER, 401, -32004),
    (True, "revoked", RECEIPTS, 401, -32004),
    (True, "expired", NUMBER, 401, -32004),
    (True, "", NUMBER, 401, -32004),
]


def key_called(ring: KeyRing, name: str | None) -> str | None:
    if not name:
        return name
    if name == "other":
        return "fs_" + "0" * 10 + "_" + "1" * 64
    return {
        "good": lambda: ring.add("good"),
        "low": lambda: ring.add("low", tier="public"),
        "revoked": lambda: ring.add("revoked", revoked=1),
        "expired": lambda: ring.add("expired", expires=2),
    }[name]()


@pytest.mark.parametrize(("public", "key", "body", "status", "code"), TABLE)
async def test_callers_get_the_methods_of_their_tier(
    ring: KeyRing, tmp_path: Path, public: bool, key: str | None, body: Any, status: int, code: int
) -> None:
    text = key_called(ring, key)
    async with running(tmp_path, public=public) as (app, node):
        alone = await post(app, body, text)
        assert (alone.status, alone.json.get("error", {}).get("code", 0)) == (status, code)
        assert alone.headers[b"content-type"] == b"application/json"
        batch = await post(app, [NUMBER, body, NUMBER], text)
        headers = {} if text is None else {"x-api-key": text}
        if status == 401:
            assert batch.status == 401
            assert alone.headers[b"www-authenticate"] == b'Bearer realm="foreseal"'
            async with connect(app, headers=headers) as socket:
                assert socket.denied is not None
                assert socket.denied[0] == 401
                assert orjson.loads(socket.denied[1])["error"]["code"] == -32004
            assert node.calls == [], "no call was made"
            return
        assert (batch.status, codes(batch)) == (200, [0, code, 0])
        async with connect(app, headers=headers) as socket:
            socket.send(body)
            assert (await socket.hear()).get("error", {}).get("code", 0) == code
            socket.send([NUMBER, body, NUMBER])
            assert [entry.get("error", {}).get("code", 0) for entry in await socket.hear()] == [0, code, 0]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer KEY"}, 200),
        ({"authorization": "bearer  KEY "}, 200),
        ({"x-api-key": "KEY"}, 200),
        ({"x-api-key": "KEY", "authorization": "Bearer KEY"}, 200),
        ({"x-api-key": "KEY", "authorization": "Bearer fs_1_2"}, 401),
        ({"authorization": "KEY"}, 401),
        ({"authorization": "Basic KEY"}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"authorization": "Bearer KEY0"}, 401),
        ({"authorization": "Bearer é"}, 401),
        ({"x-api-key": "fs_"}, 401),
        ({"x-api-key": "fs__"}, 401),
    ],
)
async def test_key_is_accepted_in_either_header(
    ring: KeyRing, tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    text = ring.add("name")
    given = {name: value.replace("KEY", text) for name, value in headers.items()}
    async with running(tmp_path) as (app, _):
        assert (await request(app, chunks=[orjson.dumps(NUMBER)], headers=given)).status == status


async def test_key_with_another_secret_is_rejected(ring: KeyRing, tmp_path: Path) -> None:
    text = ring.add("name")
    wrong = text[:-1] + ("0" if text[-1] != "0" else "1")
    async with running(tmp_path) as (app, _):
        assert [(await post(app, NUMBER, key)).status for key in (text, wrong)] == [200, 401]


async def test_rejected_body_is_not_read(tmp_path: Path) -> None:
    async with running(tmp_path) as (app, _):
        answer = await request(
            app, chunks=[b"x" * 10, b"y"], headers={"content-length": "11", "x-api-key": "fs_no", "host": "a.example"}
        )
        assert (answer.status, answer.unread) == (401, 2)
        assert answer.headers[b"connection"] == b"close"


async def test_rate_limits_apply_to_address_and_key(ring: KeyRing, tmp_path: Path) -> None:
    clock = Clock()
    own = ring.add("own", rate=rated(3).public_rate, burst=3)
    of_tier, another = ring.add("of the tier"), ring.add("another")
    async with running(tmp_path, clock, public=True, access=rated(2, 5)) as (app, _):

        async def statuses(count: int, key: str | None = None) -> list[int]:
            return [(await post(app, NUMBER, key)).status for _ in range(count)]

        assert await statuses(3) == [200, 200, 429]
        assert await statuses(4, own) == [200, 200, 200, 429]
        assert await statuses(6, of_tier) == [200] * 5 + [429]
        assert await statuses(1, another) == [200]
        refused = await post(app, NUMBER)
        assert refused.headers[b"retry-after"] == b"1"
        assert refused.json == {
            "jsonrpc": "2.0",
            "id": 1,
            "error": {
                "code": -32005,
                "message": "rate limit exceeded: 2/s, burst 2; try again in 500 ms",
                "data": {"limit": "rate", "max": 2, "retryAfterMs": 500},
            },
        }
        clock.now += 499_999
        assert await statuses(1) == [429]
        clock.now += 1
        assert await statuses(2) == [200, 429]
        assert await statuses(2, own) == [200, 429]
        samples = await metrics(app)
        assert samples['foreseal_refused_total{tier="public",reason="rate"}'] == 4
        assert samples['foreseal_refused_total{tier="dedicated",reason="rate"}'] == 3


@pytest.mark.parametrize("rate", [1, 7])
async def test_a_client_that_honours_retry_after_succeeds(tmp_path: Path, rate: int) -> None:
    clock = Clock()
    async with running(tmp_path, clock, public=True, access=rated(rate)) as (app, _):
        waited = 0
        for body in [NUMBER, call("eth_getLogs", {}), [NUMBER] * 3, b"not JSON"] * 5:
            answer = await post(app, body) if body != b"not JSON" else await request(app, chunks=[b"not JSON"])
            if answer.status == 429:
                waited += 1
                clock.now += int(answer.headers[b"retry-after"]) * 1_000_000
                answer = await post(app, body) if body != b"not JSON" else await request(app, chunks=[b"not JSON"])
            assert answer.status == 200
        assert waited


async def test_batch_entries_are_counted_and_rejected_individually(tmp_path: Path) -> None:
    clock = Clock()
    async with running(tmp_path, clock, public=True, access=rated(4)) as (app, node):
        answer = await post(app, [NUMBER, 5, NUMBER, NUMBER, NUMBER, 6])
        assert (answer.status, codes(answer)) == (200, [0, -32600, 0, 0, -32005, -32005])
        assert answer.json[4]["error"]["data"] == {"limit": "rate", "max": 4, "retryAfterMs": 250}
        assert len(node.calls) == 3
        nothing = await post(app, [NUMBER, NUMBER])
        assert (nothing.status, nothing.headers[b"retry-after"]) == (429, b"1")
        assert (nothing.json["id"], nothing.json["error"]["code"]) == (None, -32005)
        clock.now += 250_000
        some = await post(app, [NUMBER, NUMBER])
        assert (some.status, codes(some)) == (200, [0, -32005])
        clock.now += 1_000_000
        assert (await post(app, [])).json["error"]["code"] == -32600
        assert codes(await post(app, [NUMBER] * 4)) == [0, 0, 0, -32005]


async def test_websocket_messages_count(tmp_path: Path) -> None:
    clock = Clock()
    async with running(tmp_path, clock, public=True, access=rated(2)) as (app, _), connect(app) as socket:
        assert [await socket.request("eth_blockNumber") for _ in range(3)][2]["data"]["retryAfterMs"] == 500
        socket.send([NUMBER, NUMBER])
        assert [entry["error"]["code"] for entry in await socket.hear()] == [-32005, -32005]
        assert (await post(app, NUMBER)).status == 429, "the address has one bucket"
        clock.now += 500_000
        socket.send([NUMBER, NUMBER])
        assert [entry.get("error", {}).get("code", 0) for entry in await socket.hear()] == [0, -32005]
        clock.now += 1_000_000
        socket.send("not JSON")
        assert (await socket.hear())["error"]["code"] == -32700
        assert (await socket.request("eth_subscribe", "newHeads")).startswith("0x")
        assert (await socket.request("eth_subscribe", "newHeads"))["code"] == -32005


async def test_expensive_methods_cost_more(tmp_path: Path) -> None:
    clock = Clock()
    async with running(tmp_path, clock, public=True, access=rated(8)) as (app, _):
        # The double has neither method: a rejected call was never dispatched.
        assert (await post(app, call("eth_getLogs", {}))).json["error"]["code"] == -32601
        assert (await post(app, NUMBER)).status == 200
        assert (await post(app, call("debug_traceTransaction", "0x"))).json["error"]["data"] == {
            "limit": "rate",
            "max": 8,
            "retryAfterMs": 750,
        }
        clock.now += 1_000_000
        assert (await post(app, call("debug_traceTransaction", "0x"))).status == 200
        assert (await post(app, NUMBER)).status == 429


async def test_slow_call_log_has_the_key_id_without_the_key(
    ring: KeyRing, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text, low = ring.add("shop"), ring.add("low", tier="public")
    ident, low_ident = ring.keys
    async with running(tmp_path, public=True, log=LogSettings(slow=1), access=rated()) as (app, node):
        for body in (call("slow"), [NUMBER, call("slow")]):
            for key in (text, low, None):
                node.hold = True
                asked = asyncio.ensure_future(post(app, body, key))
                await until(lambda: bool(node.held))
                await asyncio.sleep(0.002)
                node.release()
                assert (await asked).status == 200
    told = [vars(record) for record in caplog.records if record.message == "slow call"]
    callers = [(each["tier"], each.get("key")) for each in told if each["method"] == "slow"]
    assert callers == [("dedicated", ident), ("public", low_ident), ("public", None)] * 2
    assert text not in str(told)
    assert text.rpartition("_")[2] not in str(told)


async def test_names_of_rejected_methods_are_not_stored(tmp_path: Path) -> None:
    async with running(tmp_path, public=True, access=rated(1)) as (app, _):
        await post(app, NUMBER)
        for number in range(5):
            await post(app, call(f"made_up_{number}"))
        samples = await metrics(app)
        assert samples['foreseal_calls_total{method="",outcome="-32005"}'] == 5
        assert not [name for name in samples if "made_up" in name]


async def test_public_callers_have_separate_limits(ring: KeyRing, tmp_path: Path) -> None:
    key = ring.add("key")
    lower = PublicLimits(body=200, batch=2, response=100, subscriptions=1, connections=2, caller_connections=None)
    calls = [NUMBER] * 3
    async with running(tmp_path, public=True, public_limits=lower, access=rated()) as (app, node):
        for given, body, batch, large, subscribed in ((None, 413, -32005, -32005, -32005), (key, 200, 0, 0, 0)):
            assert (await post(app, call("echo", "x" * 300), given)).status == body
            assert (await request(app, chunks=[b" " * 300], headers=_with(given))).status == body
            answer = (await post(app, calls, given)).json
            assert (answer["error"]["code"] if batch else len(answer)) == (batch or 3)
            assert (await post(app, call("large", 150), given)).json.get("error", {}).get("code", 0) == large
            async with connect(app, headers=_with(given)) as socket:
                await socket.request("eth_subscribe", "newHeads")
                second = await socket.request("eth_subscribe", "newHeads")
                assert (second["code"] if subscribed else second[:2]) == (subscribed or "0x")
                socket.send(call("echo", "x" * 300))
                if given:
                    await socket.hear()
                else:
                    with pytest.raises(Closed, match="1009"):
                        await socket.hear()
        by_key = {"headers": _with(key)}
        async with connect(app, **by_key) as other, connect(app, **by_key), connect(app), connect(app) as second:
            assert second.accepted.is_set(), "those with keys take no room of public ones"
            async with connect(app) as third:
                assert third.denied == (503, b"too many connections: try again later\n")
            assert await other.request("eth_blockNumber")
    assert node.tiers[0]["call_gas"] == 50_000_000


def _with(key: str | None) -> dict[str, str]:
    return {} if key is None else {"x-api-key": key}


def test_public_limit_never_exceeds_the_total_limit(tmp_path: Path) -> None:
    settings = Settings(datadir=tmp_path, limits=Limits(batch=70, caller_calls=3), public_limits=PublicLimits(body=5))
    limits = settings.tier_limits("public")
    assert (limits.batch, limits.body, limits.caller_calls, limits.depth) == (7, 5, 3, 64)
    assert settings.tier_limits("dedicated") is settings.limits
    assert orjson.loads(settings.tier_core_limits("public"))["terms"] == 1000


@pytest.mark.usefixtures("counted_callers")
async def test_slow_calls_of_one_caller_leave_capacity_for_others(ring: KeyRing, tmp_path: Path) -> None:
    slow, key = call("slow"), ring.add("key")
    async with running(tmp_path, public=True, public_limits=PublicLimits(caller_calls=2), access=rated()) as (
        app,
        node,
    ):
        await post(app, slow)
        node.hold = True
        held = [asyncio.ensure_future(post(app, slow)) for _ in range(2)]
        await until(lambda: len(node.held) == 2)
        refused = await post(app, slow)
        assert (refused.status, refused.headers[b"retry-after"]) == (429, b"1")
        assert refused.json["error"]["data"] == {"limit": "caller_calls", "max": 2}
        kept = asyncio.ensure_future(post(app, slow, key))
        await until(lambda: len(node.held) == 3)
        node.hold = False
        node.release()
        assert [(await one).status for one in (*held, kept)] == [200] * 3
        assert (await post(app, slow)).status == 200


@pytest.mark.usefixtures("counted_callers")
async def test_calls_above_the_limit_of_the_process_are_counted(tmp_path: Path) -> None:
    slow = call("slow")
    async with running(tmp_path, limits=Limits(calls=1)) as (app, node):
        await post(app, slow)
        node.hold = True
        # A caller with few calls may exceed the limit up to this number.
        held = [asyncio.ensure_future(post(app, slow)) for _ in range(4)]
        await until(lambda: len(node.held) == 4)
        refused = await post(app, slow)
        assert refused.json["error"]["data"] == {"limit": "calls", "max": 1}
        assert (await metrics(app))['foreseal_refused_total{tier="dedicated",reason="calls"}'] == 1
        node.release()
        await asyncio.wait(held)


@pytest.mark.usefixtures("counted_callers")
async def test_batch_waits_for_its_own_slow_calls(tmp_path: Path) -> None:
    slow = call("slow")
    async with running(tmp_path, public=True, public_limits=PublicLimits(caller_calls=2), access=rated()) as (
        app,
        node,
    ):
        assert codes(await post(app, [slow, NUMBER, slow] * 3)) == [0] * 9
        async with connect(app) as socket:
            socket.send([slow] * 5)
            assert ["result" in entry for entry in await socket.hear()] == [True] * 5
        node.hold = True
        held = [asyncio.ensure_future(post(app, slow)) for _ in range(2)]
        await until(lambda: len(node.held) == 2)
        assert codes(await post(app, [slow])) == [-32005], "others of the caller have all the room"
        node.release()
        await asyncio.wait(held)


async def test_connections_of_one_caller_are_limited(ring: KeyRing, tmp_path: Path) -> None:
    key = ring.add("key")
    async with running(tmp_path, public=True, public_limits=PublicLimits(caller_connections=2)) as (app, _):
        by_key = {"headers": _with(key)}
        async with connect(app), connect(app), connect(app, **by_key), connect(app, **by_key), connect(app) as third:
            assert third.denied == (429, b"a caller may have at most 2 connections\n")
        async with connect(app) as again:
            assert again.accepted.is_set()


def reload_keys(app: App) -> None:
    """Reload the file of keys, which the application does several times per second."""
    assert app._callers is not None
    app._callers._keys.reload_if_changed()


async def test_new_key_is_valid_once_it_is_in_the_file(ring: KeyRing, tmp_path: Path) -> None:
    async with running(tmp_path, access=AccessSettings(wrong_key_rate=UNLIMITED)) as (app, _):
        text = ring.add("new")
        while (await post(app, NUMBER, text)).status == 401:  # noqa: ASYNC110 - the application polls
            await asyncio.sleep(0.01)
        async with connect(app, headers=_with(text)) as opened, connect(app) as anonymous:
            assert await opened.request("eth_blockNumber")
            (ident,) = ring.keys
            del ring.keys[ident]
            ring.save()
            with pytest.raises(Closed, match=r"\(1008, 'the API key was revoked or has expired'\)"):
                await opened.hear()
            assert (await post(app, NUMBER, text)).status == 401
            assert await anonymous.request("eth_blockNumber")


async def test_broken_key_file_is_logged_and_ignored(
    ring: KeyRing, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = ring.add("key")
    async with running(tmp_path) as (app, _):
        async with connect(app, headers=_with(text)) as socket:
            ring.path.write_bytes(b'{"version": 1, "keys": [{}]}')
            for _ in range(3):
                reload_keys(app)
            assert await socket.request("eth_blockNumber")
            assert (await post(app, NUMBER, text)).status == 200
        (told,) = [record for record in caplog.records if record.levelname == "ERROR"]
        assert told.message == "cannot read the file of API keys: keeping the previous keys"
        ring.path.unlink()
        reload_keys(app)
        assert (await post(app, NUMBER, text)).status == 401, "without a file there are no keys, as at the start"


async def test_first_message_after_a_revocation_is_rejected(ring: KeyRing, tmp_path: Path) -> None:
    text = ring.add("key")
    async with running(tmp_path) as (app, node), connect(app, headers=_with(text)) as socket:
        assert await socket.request("eth_blockNumber")
        ring.keys.clear()
        ring.save()
        reload_keys(app)
        socket.call("eth_blockNumber")
        with pytest.raises(Closed, match="1008"):
            await socket.hear()
        assert len(node.calls) == 1


@pytest.mark.parametrize("broken", [b"", b"[]", b'{"version": 2, "keys": []}', b'{"format": 1, "keys": []}'])
async def test_invalid_key_file_fails_at_start(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "keys.json").write_bytes(broken)
    with pytest.raises(NodeError, match=f"cannot use the API keys in {tmp_path}/keys.json: ") as caught:
        async with running(tmp_path):
            raise AssertionError("it must not start")
    assert caught.value.kind == "keys"


@pytest.mark.parametrize("wrong", ["eth_blocknumber", "debgu_*", "rpc"])
async def test_unknown_method_in_a_list_fails_at_start(tmp_path: Path, wrong: str) -> None:
    for tier in ("public_allow", "public_deny", "dedicated_allow", "dedicated_deny"):
        lists: dict[str, Any] = {tier: frozenset({wrong, "eth_call"})}
        with pytest.raises(NodeError) as caught:
            async with running(tmp_path, access=AccessSettings(**lists)):
                raise AssertionError("it must not start")
        assert caught.value.message == f"access.{tier}: unknown method {wrong}"
        assert caught.value.is_usage_error


@pytest.mark.parametrize("tier", ["public", "dedicated"])
async def test_tier_lists_restrict_methods(tmp_path: Path, tier: str) -> None:
    lists: dict[str, Any] = {
        f"{tier}_allow": frozenset({"eth_*", "net_version"}),
        f"{tier}_deny": frozenset({"eth_get*", "eth_subscribe"}),
    }
    async with running(tmp_path, public=tier == "public", access=AccessSettings(**lists)) as (app, _):
        for method, status in (
            ("eth_blockNumber", 200),
            ("eth_getBalance", 403),
            ("web3_clientVersion", 403),
            ("txpool_content", 403),
            ("no_such", 200),
            ("rpc_modules", 200),
            ("rpc.discover", 200),
        ):
            answer = await post(app, call(method))
            assert answer.status == status, method
            if status == 403:
                assert answer.json["error"]["code"] == -32004
        batch = await post(app, [NUMBER, call("eth_getBalance"), NUMBER])
        assert (batch.status, codes(batch)) == (200, [0, -32004, 0])
        async with connect(app) as socket:
            assert (await socket.request("eth_subscribe", "newHeads"))["code"] == -32004
            assert (await socket.request("eth_getBalance"))["code"] == -32004
            assert await socket.request("eth_blockNumber")


async def test_wrong_keys_are_limited_by_address_but_valid_keys_work(ring: KeyRing, tmp_path: Path) -> None:
    clock = Clock()
    async with running(tmp_path, clock, access=AccessSettings(wrong_key_rate=Rate(1), wrong_key_burst=3)) as (app, _):
        good, wrong = ring.add("good"), key_called(ring, "other")
        reload_keys(app)
        assert (await post(app, NUMBER, good)).status == 200
        assert [(await post(app, NUMBER, wrong)).status for _ in range(3)] == [401] * 3
        refused = await post(app, NUMBER, wrong)
        assert (refused.status, refused.headers[b"retry-after"], refused.json["error"]["code"]) == (429, b"1", -32005)
        # Another client behind the same address may have a valid key.
        assert (await post(app, NUMBER, good)).status == 200
        assert (await post(app, NUMBER)).status == 200
        # Behind a proxy the address is the forwarded one.
        assert (await post(app, NUMBER, wrong, **{"x-forwarded-for": "192.0.2.9"})).status == 429
        async with connect(app, headers=_with(wrong)) as socket:
            assert socket.denied is not None
            assert socket.denied[0] == 429
        clock.now += 1_000_000
        assert (await post(app, NUMBER, good)).status == 200
        assert [(await post(app, NUMBER, wrong)).status for _ in range(2)] == [401, 429]
        refusals = (await metrics(app))['foreseal_refused_total{tier="dedicated",reason="wrong_keys"}']
        assert refusals == 4
