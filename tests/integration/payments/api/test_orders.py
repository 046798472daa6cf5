"""Orders over HTTP: from terms to a final capture, and every rejection on the way."""

from typing import Any

import httpx
import pytest
from eth_utils.crypto import keccak
from sqlalchemy.exc import OperationalError, TimeoutError

from foreseal.payments.api.roles import Role
from foreseal.payments.ledger import Database
from payments.api.service_harness import ServiceHarness
from payments.shop import ADDRESS, BUYER, BUYERS, SHOP


def test_an_order_goes_from_terms_to_a_final_capture(service: ServiceHarness) -> None:
    made = service.draft("7", 12_340, valid_seconds=600)
    order = made["order"]
    assert (order["state"], order["amount"], order["amount_shown"]) == ("Drafted", "12340", "0.01234 USDC")
    assert (order["payer"], order["payee"], order["token"]) == (BUYER.address, SHOP.address, ADDRESS)
    assert order["valid_before"] == service.pending_time() + 600
    assert order["memo"] == "0x" + keccak(text="7").hex()
    assert made["typed_data"]["message"]["value"] == "12340"
    assert made["typed_data"] == service.get("/v1/orders/7/typed-data")
    assert (order["payment"], order["refunded"]) == (None, "0")

    stored = service.made("/v1/orders/7/signature", {"signature": service.signature("7")}, role=Role.CASHIER)
    assert (stored["order"]["state"], stored["transactions"]) == ("Stored, unused", [])
    capture = service.made("/v1/orders/7/capture", role=Role.CASHIER)
    assert (capture["order"]["state"], capture["order"]["tx_status"]) == ("Stored, unused", "intended")
    (sent,) = capture["transactions"]
    assert (sent["purpose"], sent["result"], len(sent["hashes"])) == ("capture", None, 1)

    service.chain.step()
    service.run_pass()
    paid = service.get("/v1/orders/7", role=Role.READER)["order"]
    assert (paid["state"], paid["finality"]) == ("Used, captured", "provisional")
    assert (paid["payment"]["transaction_hash"], paid["payment"]["finality"]) == (sent["hashes"][0], "provisional")
    assert (paid["payment"]["sender"], paid["payment"]["amount"]) == (BUYER.address, "12340")
    service.settle()
    final = service.get("/v1/orders/7")
    assert (final["order"]["finality"], final["order"]["payment"]["finality"]) == ("final", "final")
    assert final["order"]["tx_status"] is None
    assert final["transactions"][0]["result"] == "included"

    told = service.get("/v1/orders/7/timeline")["items"]
    assert [each["type"] for each in told[:5]] == [
        "order.created",
        "order.signed",
        "order.stored",
        "order.capture_submitted",
        "order.transaction_broadcast",
    ]
    shown = told[-1]["data"]["object"]
    assert {name: shown[name] for name in ("object", "id", "amount", "state", "finality", "tx_status")} == {
        "object": "order",
        "id": "7",
        "amount": "12340",
        "state": "Used, captured",
        "finality": "final",
        "tx_status": None,
    }
    assert (ids := [int(each["id"].removeprefix("evt_")) for each in told]) == sorted(ids)


def test_void_and_cancel_end_an_order(service: ServiceHarness) -> None:
    service.stored("a")
    voided = service.made("/v1/orders/a/void", {"reason": "sold out"}, role=Role.CASHIER)
    assert voided["order"]["state"] == "Voided offchain"
    assert service.get("/v1/orders/a/timeline")["items"][-1]["data"]["details"] == {
        "reason": "merchant_voided",
        "message": "sold out",
    }
    assert service.get("/v1/orders/a/typed-data?purpose=cancel")["primaryType"] == "CancelAuthorization"
    service.refused(409, "not_allowed", "/v1/orders/a/capture")
    wrong = {"signature": service.signature("a")}
    assert service.refused(422, "invalid_signature", "/v1/orders/a/cancel", wrong)["argument"] == "signature"
    service.made("/v1/orders/a/cancel", {"signature": service.cancellation("a")}, role=Role.CASHIER)
    service.settle()
    assert service.state("a") == "Canceled / final"


def test_order_expires_without_a_request(service: ServiceHarness) -> None:
    service.draft("a", valid_seconds=100)
    service.stored("b", valid_seconds=100)
    service.stored("c", valid_seconds=100_000)
    service.chain.mine(100)
    service.settle()
    assert [service.state(id) for id in "abc"] == ["Expired / idle", "Expired / idle", "Stored, unused / idle"]


WRONG_TERMS: list[tuple[dict[str, object], str, str]] = [
    ({"amount": 500}, "amount", "amount: must be a string of whole smallest units, such as '1250000', got int"),
    ({"amount": 0.5}, "amount", "amount: must be a string of whole smallest units, such as '1250000', got float"),
    ({"amount": "0.5"}, "amount", "amount: '0.5' must be a whole number of smallest units"),
    ({"amount": "1e3"}, "amount", "amount: '1e3' must be a whole number"),
    ({"amount": "-1"}, "amount", "amount: '-1' must be a whole number"),
    ({"amount": "0"}, "amount", "amount: must not be 0"),
    ({"amount": str(2**256)}, "amount", "must be between 0 and 2**256 - 1"),
    ({"amount": None}, "amount", "amount or maximum is required"),
    ({"maximum": "5"}, "maximum", "maximum: amount is given as well"),
    ({"payer": "0x12"}, "payer", "payer: address: '0x12' is not an address"),
    ({"payer": 5}, "payer", "payer: 5 must be a string"),
    ({"valid_before": 10**10, "valid_seconds": 5}, "valid_seconds", "valid_before is given as well"),
    ({"payer": "0x" + "00" * 20}, "payer", "payer: must not be the zero address"),
    ({"payer": SHOP.address}, "payer", "payer: must not be the payee"),
    ({"valid_before": 1}, "valid_before", "valid_before: 1 is not after"),
    ({"valid_after": 2**62, "valid_seconds": 600}, "valid_after", "valid_after: must be before"),
    ({"valid_before": 0}, "valid_before", "valid_before: 0 must be at least 1"),
    ({"valid_seconds": 0}, "valid_seconds", "valid_seconds: 0 must be at least 1"),
    ({"valid_seconds": True}, "valid_seconds", "valid_seconds: True must be a whole number"),
    ({"id": "a/b"}, "id", "must not contain a slash"),
    ({"id": ""}, "id", "is not a valid id"),
    ({"id": "x" * 201}, "id", "is not a valid id"),
    ({"reference": ""}, "reference", "reference: must have at least 1 character"),
    ({"reference": "x" * 201}, "reference", "reference: must have at most 200 characters"),
    ({"reference": 5}, "reference", "reference: 5 must be a string"),
    ({"metadata": ["a"]}, "metadata", "metadata: must be an object of texts"),
    ({"metadata": {"a": 5}}, "metadata", "metadata: the value of 'a' must be a string"),
    ({"metadata": {"a": None}}, "metadata", "metadata: the value of 'a' must be a string"),
    ({"metadata": {"": "x"}}, "metadata", "metadata: the key '' must have 1 to 40 characters"),
    ({"metadata": {"k" * 41: "x"}}, "metadata", "must have 1 to 40 characters"),
    ({"metadata": {"k\0": "x"}}, "metadata", "and no NUL"),
    ({"metadata": {"a": "x" * 501}}, "metadata", "metadata: the value of 'a' must have at most 500 characters"),
    ({"metadata": {"a": "x\0"}}, "metadata", "and no NUL"),
    ({"metadata": {f"k{n}": "x" for n in range(51)}}, "metadata", "metadata: must have at most 50 entries"),
    ({"tip": "1"}, "tip", "tip: unknown field, expected id, payer, amount"),
]


def test_error_of_invalid_terms_names_the_argument(service: ServiceHarness) -> None:
    for change, argument, said in WRONG_TERMS:
        body = {"id": "a", "payer": BUYER.address, "amount": "500"} | change
        response = service.request("POST", "/v1/orders", body)
        error = response.json()["error"]
        assert (response.status_code, error["argument"]) == (400, argument)
        assert said in error["message"]
    assert service.ids() == []


def test_body_that_is_not_a_json_object_is_rejected(service: ServiceHarness) -> None:
    for body in (b"[]", b"{", b"\xff", b'"text"', b"1"):
        service.refused(400, "invalid_body", "/v1/orders", body)


@pytest.mark.parametrize(
    ("body", "argument"),
    [
        (b'{"id": "a", "amount": "1", "amount": "900"}', "amount"),
        (b'{"id": "a", "amount": "1", "\\u0061mount": "900"}', "amount"),
        (b'{"id": "a", "terms": {"x": 1, "x": 1}}', "x"),
    ],
)
def test_field_that_occurs_twice_is_rejected(service: ServiceHarness, body: bytes, argument: str) -> None:
    error = service.refused(400, "duplicate_field", "/v1/orders", body)
    assert (error["argument"], error["message"]) == (argument, f"{argument}: the field occurs more than once")
    assert service.ids() == []


def test_oversized_body_is_rejected(service: ServiceHarness) -> None:
    service.refused(413, "body_too_large", "/v1/orders", b" " * (256 * 1024 + 1))


def test_an_impossible_operation_has_a_reason(service: ServiceHarness) -> None:
    service.draft("a", 500)
    body = {"id": "a", "payer": BUYER.address, "amount": "500"}
    assert service.refused(409, "duplicate", "/v1/orders", body)["argument"] == "id"
    service.refused(404, "not_found", "/v1/orders/none/capture")
    service.refused(409, "not_allowed", "/v1/orders/a/capture")
    wrong = {"signature": "0x" + "11" * 65}
    assert service.refused(422, "invalid_signature", "/v1/orders/a/signature", wrong)["argument"] == "signature"
    error = service.refused(400, "invalid_value", "/v1/orders/a/signature", {"signature": "zz"})
    assert error["message"] == "signature: 'zz' must be 0x hex"
    service.made("/v1/orders/a/signature", {"signature": service.signature("a")})
    # The same signature again changes nothing; another one is rejected.
    service.made("/v1/orders/a/signature", {"signature": service.signature("a")})
    service.refused(409, "not_allowed", "/v1/orders/a/signature", wrong)
    service.stored("poor", 10**9, BUYERS[1])
    error = service.refused(409, "not_capturable", "/v1/orders/poor/capture")
    assert "payer's balance is too low" in error["message"]
    assert service.state("poor") == "Stored, unused / idle"


def test_unresponsive_node_is_503_and_changes_nothing(service: ServiceHarness) -> None:
    service.stored("a")
    service.node.losses += [("eth_getBlockByNumber", False)]
    key = service.key()
    service.refused(503, "node_unreachable", "/v1/orders/a/capture", key=key)
    assert service.state("a") == "Stored, unused / idle"
    # The obstacle is gone, so the same request is executed.
    assert service.made("/v1/orders/a/capture", key=key)["order"]["tx_status"] == "intended"


@pytest.mark.parametrize("way", ["reading", "transaction"])
@pytest.mark.parametrize("error", [OperationalError("", {}, Exception("at shop:secret@host")), TimeoutError("secret")])
def test_an_unavailable_database_is_503_without_details(
    service: ServiceHarness, monkeypatch: pytest.MonkeyPatch, way: str, error: Exception
) -> None:
    def down(*_: Any, **__: Any) -> None:
        raise error

    body = {"payer": BUYER.address, "amount": "500"}
    with monkeypatch.context() as patch:
        patch.setattr(Database, way, down)
        refused = service.refused(503, "database_unavailable", "/v1/orders", body, key="k")
        assert refused["message"] == "the database does not respond"
    assert service.ids() == []
    service.made("/v1/orders", body, key="k")


def test_pages_list_every_order_once_newest_first(service: ServiceHarness) -> None:
    for number in range(7):
        service.draft(f"n{number}", 100 + number, BUYERS[number % 2])
    seen, cursor = [], ""
    while True:
        page = service.get(f"/v1/orders?limit=3{cursor}")
        seen += [order["id"] for order in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
        service.draft(f"new{cursor[-1]}{len(seen)}")  # later orders do not shift the pages
    assert seen == [f"n{number}" for number in range(6, -1, -1)]


def test_orders_are_filtered_by_their_fields(service: ServiceHarness) -> None:
    service.captured("paid 1")
    service.stored("open 1", buyer=BUYERS[1])
    service.stored("open_1")
    order = service.get("/v1/orders/paid%201")["order"]

    def list_ids(**query: str) -> list[str]:
        return [each["id"] for each in service.get(f"/v1/orders?{httpx.QueryParams(query)}")["items"]]

    assert list_ids() == ["open_1", "open 1", "paid 1"]
    assert list_ids(state="Used, captured") == ["paid 1"]
    assert list_ids(state="Stored, unused") == ["open_1", "open 1"]
    assert list_ids(finality="final") == ["paid 1"]
    assert list_ids(payer=BUYERS[1].address) == ["open 1"]
    assert list_ids(transaction=order["payment"]["transaction_hash"]) == ["paid 1"]
    assert list_ids(nonce=order["nonce"]) == ["paid 1"]
    assert list_ids(id="open_") == ["open_1"]
    assert list_ids(id="open", state="Drafted") == []
    for query, argument in (("limit=0", "limit"), ("cursor=x", "cursor"), ("state=Lost", "state"), ("page=2", "page")):
        response = service.request("GET", f"/v1/orders?{query}")
        assert (response.status_code, response.json()["error"]["argument"]) == (400, argument)
    for path in ("orders", "refunds", "payouts", "deliveries", "unmatched-transfers"):
        for cursor in ("²", "²-1", "1-1-1", "9" * 18, f"1-{'9' * 18}", "9" * 400, "-", "%00"):
            response = service.request("GET", f"/v1/{path}?cursor={cursor}")
            assert (response.status_code, response.json()["error"]["argument"]) == (400, "cursor"), (path, cursor)
    assert service.request("GET", "/v1/orders?limit=1&limit=2").json()["error"]["message"] == "limit occurs twice"


def test_unknown_paths_and_methods_return_the_error_format(service: ServiceHarness) -> None:
    assert service.request("GET", "/v1/nothing").json()["error"]["code"] == "no_such_path"
    response = service.request("POST", "/v1/orders/a/timeline")
    assert (response.status_code, response.json()["error"]["code"]) == (405, "method_not_allowed")
    assert set(response.headers["allow"].split(", ")) == {"GET", "HEAD"}
