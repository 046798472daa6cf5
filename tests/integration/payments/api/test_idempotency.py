"""Idempotency-Key: a retry returns the stored response; after a crash before the response the effect stays single."""

import threading
from typing import Any

import pytest
from sqlalchemy import select

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.idempotency import IdempotentRequests, RequestClaim, StoredResponse, fingerprint
from foreseal.payments.api.models import RequestRecord
from foreseal.payments.api.roles import Role
from foreseal.payments.ledger.models import PayoutRecord, RefundRecord, TimelineRecord, TransactionRecord
from payments.api.service_harness import LEASE, ServiceHarness
from payments.fake.contracts import PAYOUTS
from payments.shop import BUYER, BUYERS, SHOP

BODY = {"payer": BUYER.address, "amount": "500", "valid_seconds": 600}


def test_the_same_key_and_body_replays_the_stored_answer(service: ServiceHarness) -> None:
    first = service.request("POST", "/v1/orders", BODY, key="k")
    again = service.request("POST", "/v1/orders", dict(reversed(BODY.items())), key="k")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert (first.headers.get("idempotency-replayed"), again.headers.get("idempotency-replayed")) == (None, "true")
    assert len(service.ids()) == 1
    other = service.request("POST", "/v1/orders", BODY, key="k 2")
    assert other.json()["order"]["id"] != first.json()["order"]["id"]


def test_key_with_another_body_or_path_is_rejected(service: ServiceHarness) -> None:
    service.made("/v1/orders", BODY, key="k")
    for body in (BODY | {"amount": "501"}, BODY | {"id": "x"}):
        error = service.refused(422, "idempotency_key_reused", "/v1/orders", body, key="k")
        assert error["argument"] == "Idempotency-Key"
    service.refused(422, "idempotency_key_reused", "/v1/orders/a/capture", key="k")
    assert len(service.ids()) == 1


def test_every_post_requires_an_idempotency_key(service: ServiceHarness) -> None:
    paths = service.document["paths"]
    # The key of a shopper's signature is derived from it, and a preview has no effect.
    free = ("/v1/checkout/{id}/authorization", "/v1/payouts/preview", "/v1/splits/preview")
    posts = [path for path, item in paths.items() if "post" in item and path not in free]
    assert len(posts) > 10
    for path in posts:
        concrete = path.replace("{transaction}", "0x" + "00" * 32).replace("{position}", "0").replace("{id}", "1")
        body = _filled(service.document, paths[path]["post"])
        for headers in ({"idempotency-key": ""}, {"idempotency-key": "x" * 256}):
            response = service.request("POST", concrete, body, headers=headers)
            assert (response.status_code, response.json()["error"]["code"]) == (400, "idempotency_key_missing"), path


def _filled(document: Any, operation: Any) -> dict[str, Any]:
    """Return a body that an operation allows."""
    if "requestBody" not in operation:
        return {}
    name = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    schema = document["components"]["schemas"][name]
    leg = {"recipient": BUYER.address}
    values: dict[str, Any] = {"amount": "1", "payer": BUYER.address, "total": "1", "signature": "0x", "url": "http://x"}
    values |= {"valid_before": 1, "nonce": "0x" + "00" * 32}
    values |= {"payments": [{name: values[name] for name in ("payer", "amount", "signature", "valid_before", "nonce")}]}
    values |= {
        "name": "n",
        "role": "reader",
        "note": "n",
        "recipients": [leg | {"amount": "1"}],
        "shares": [leg | {"basis_points": 10_000}],
    }
    return {name: values[name] for name in schema.get("required", ())}


def test_error_response_is_replayed(service: ServiceHarness) -> None:
    service.stored("poor", 10**9)
    service.refused(409, "not_capturable", "/v1/orders/poor/capture", key="k")
    service.chain.change(lambda state: state.balances.update({BUYER.address.lower(): 10**10}))
    service.refused(409, "not_capturable", "/v1/orders/poor/capture", key="k")
    service.made("/v1/orders/poor/capture", key="k 2")


def test_response_to_an_invalid_request_is_not_stored(service: ServiceHarness) -> None:
    service.refused(400, "invalid_value", "/v1/orders", BODY | {"amount": 5}, key="k")
    service.made("/v1/orders", BODY, key="k")


def test_concurrent_duplicate_is_409(service: ServiceHarness) -> None:
    other = service.another()
    service.stored("a")
    service.made("/v1/orders/a/void")
    body = {"signature": service.cancellation("a")}
    inside, go_on = threading.Event(), threading.Event()

    def hold(method: str) -> None:
        if method == "eth_estimateGas":
            service.node.hook = None
            inside.set()
            assert go_on.wait(30)

    service.node.hook = hold
    answers: list[int] = []
    first = threading.Thread(
        target=lambda: answers.append(service.request("POST", "/v1/orders/a/cancel", body, key="k").status_code)
    )
    first.start()
    assert inside.wait(30)
    for process in (service.process, other):
        response = service.request("POST", "/v1/orders/a/cancel", body, key="k", process=process)
        assert (response.status_code, response.json()["error"]["code"]) == (409, "in_progress")
        assert response.headers["retry-after"] == "1"
    go_on.set()
    first.join()
    assert answers == [200]
    repeated = service.request("POST", "/v1/orders/a/cancel", body, key="k", process=other)
    assert repeated.headers["idempotency-replayed"] == "true"


def test_queued_request_replaces_the_claim_of_a_dead_process(service: ServiceHarness) -> None:
    service.stored("a")
    path, claimed = "/v1/orders/a/capture", fingerprint("POST", "/v1/orders/a/capture", b"{}")
    other = service.another()
    for key in ("k", "l"):
        other.requests.claim(key, claimed)
        service.refused(409, "in_progress", path, {}, key=key)
    service.refused(422, "idempotency_key_reused", "/v1/orders/b/capture", {}, key="k")
    _after_the_lease(service)
    first = service.made(path, {}, key="k")
    assert service.made(path, {}, key="k") == first


def test_restarted_process_replaces_its_own_claims_at_once(service: ServiceHarness) -> None:
    before, now, other = (
        IdempotentRequests(service.database, service.clock, name, LEASE) for name in ("a 1", "a 2", "b 1")
    )
    before.claim("k", "f")
    with service.database.transaction() as tx:
        assert isinstance(other.stored(tx, {"k": "f"})["k"], ApiError)
        assert now.stored(tx, {"k": "f"}) == {}
        now.store(tx, [("k", "f", StoredResponse(200, b"{}"))])
        assert other.stored(tx, {"k": "f"}) == {"k": StoredResponse(200, b"{}")}


class _Died(BaseException):
    """The process ended before it stored its response."""


def _request_and_crash(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch, path: str, body: Any, key: str
) -> None:
    """Send a request whose effect is stored but whose response is not."""

    def die(*_: Any) -> None:
        raise _Died

    with monkeypatch.context() as patch:
        patch.setattr(IdempotentRequests, "conclude", die)
        with pytest.raises(_Died):
            service.request("POST", path, body, key=key)
    with service.database.reading() as tx:
        assert tx.execute(select(RequestRecord.status).where(RequestRecord.key == key)).scalar_one() is None


def _after_the_lease(service: ServiceHarness) -> None:
    service.offset += LEASE + 1


def test_crash_after_any_effect_does_not_repeat_it(service: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def through(path: str, body: Any = None) -> Any:
        key = service.key()
        _request_and_crash(service, monkeypatch, path, body, key)
        service.restart()
        service.refused(409, "in_progress", path, body, key=key)
        _after_the_lease(service)
        return service.made(path, body, key=key)

    id = service.captured("a")
    through(f"/v1/orders/{id}/refunds", {"amount": "200"})
    service.settle()
    with service.database.reading() as tx:
        assert len(tx.execute(select(RefundRecord)).all()) == 1
        assert len(tx.execute(select(TransactionRecord)).all()) == 2

    service.stored("v")
    assert through("/v1/orders/v/void")["order"]["state"] == "Voided offchain"
    canceled = through("/v1/orders/v/cancel", {"signature": service.cancellation("v")})
    assert len(canceled["transactions"]) == 1

    service.chain.change(lambda state: state.allowances.update({(SHOP.address.lower(), PAYOUTS): 10**9}))
    legs = [{"recipient": each.address, "amount": "10"} for each in BUYERS]
    through("/v1/payouts", {"recipients": legs})
    service.settle()
    with service.database.reading() as tx:
        assert len(tx.execute(select(PayoutRecord)).all()) == 1
    assert service.get("/v1/balance")["faults"] == []
    hook = through("/v1/webhooks", {"url": "http://x.example/"})["webhook"]["id"]
    assert [each["id"] for each in service.get("/v1/webhooks")["items"]] == [hook]
    assert through(f"/v1/webhooks/{hook}/retire")["retired"] is not None


def _entries(service: ServiceHarness) -> int:
    with service.database.reading() as tx:
        return len(tx.execute(select(TimelineRecord.id)).all())


def test_crash_before_the_commit_leaves_no_effect_of_a_queued_request(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def through(path: str, body: Any = None) -> Any:
        def die(*_: Any) -> None:
            raise _Died

        key, before = service.key(), _entries(service)
        with monkeypatch.context() as patch:
            patch.setattr(IdempotentRequests, "store", die)
            with pytest.raises(_Died):
                service.request("POST", path, body, key=key)
        service.restart()
        assert _entries(service) == before
        return service.made(path, body, key=key)

    id = through("/v1/orders", BODY)["order"]["id"]
    assert service.ids() == [id]
    stored = through(f"/v1/orders/{id}/signature", {"signature": service.signature(id)})
    assert stored["order"]["state"] == "Stored, unused"
    assert len(through(f"/v1/orders/{id}/capture")["transactions"]) == 1
    service.settle()
    assert service.state(id) == "Used, captured / final"


def test_expired_claim_does_not_overwrite_the_stored_response(service: ServiceHarness) -> None:
    service.stored("a")
    claim = service.process.requests.claim("k", "f")
    _after_the_lease(service)
    again = service.process.requests.claim("k", "f")
    assert isinstance(again, RequestClaim)
    service.process.requests.conclude(claim, StoredResponse(200, b"late"))
    _after_the_lease(service)
    other = service.another()
    mine = other.requests.claim("k", "f")
    assert isinstance(claim, RequestClaim)
    assert isinstance(mine, RequestClaim)
    assert (claim.again, mine.again) == (False, True)
    for late in (claim, again):
        service.process.requests.conclude(late, StoredResponse(200, b"late"))
    other.requests.conclude(mine, StoredResponse(201, b"mine"))
    assert service.process.requests.claim("k", "f") == StoredResponse(201, b"mine")


def test_idempotency_keys_are_shared_by_roles_that_may_call(service: ServiceHarness) -> None:
    service.made("/v1/orders", BODY, key="k", role=Role.CASHIER)
    assert (
        service.request("POST", "/v1/orders", BODY, key="k", role=Role.ADMIN).headers["idempotency-replayed"] == "true"
    )
    service.refused(403, "insufficient_role", "/v1/orders", BODY, key="k", role=Role.READER)
