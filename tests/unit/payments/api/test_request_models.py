"""Validation of request bodies: the reported error, strict types, and the canonical form behind fingerprints."""

import hashlib
from typing import Any, get_args

import orjson
import pytest

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.idempotency import fingerprint
from foreseal.payments.api.openapi import document
from foreseal.payments.api.request_models import NoFields, _check_members, parse_body, parse_fields
from foreseal.payments.api.responses import ActiveTxStatus
from foreseal.payments.api.routes import ROUTES
from foreseal.payments.api.routes.order_requests import OrdersQuery
from foreseal.payments.api.routes.payments import PaymentBatchRequest, PaymentRequest
from foreseal.payments.api.routes.payouts import NewPayout
from foreseal.payments.ledger import OrderState, TxStatus

PAYEE = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
PAYMENT = {
    "payer": PAYEE.lower(),
    "amount": "12340",
    "valid_before": 1_900_000_000,
    "nonce": "0x" + "ab" * 32,
    "signature": "0x" + "11" * 65,
}


def payment(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in (PAYMENT | changes).items() if value is not ...}


def rejected(model: Any, body: Any) -> tuple[str, str | None, str]:
    with pytest.raises(ApiError) as error:
        parse_body(model, orjson.dumps(body))
    assert error.value.status == 400
    return error.value.code, error.value.argument, error.value.message


def test_valid_payment_has_converted_values() -> None:
    request, _ = parse_body(PaymentRequest, orjson.dumps(payment(id="a", capture=None)))
    assert (request.payer, request.amount, request.nonce) == (PAYEE, 12_340, b"\xab" * 32)
    assert (request.id, request.valid_after, request.capture) == ("a", None, None)


@pytest.mark.parametrize(
    ("changes", "code", "argument", "message"),
    [
        ({"amount": 5}, "invalid_value", "amount", "a string of whole smallest units, such as '1250000', got int"),
        ({"valid_before": "5"}, "invalid_value", "valid_before", "'5' must be a whole number"),
        ({"valid_before": True}, "invalid_value", "valid_before", "True must be a whole number"),
        ({"valid_before": 5.0}, "invalid_value", "valid_before", "5.0 must be a whole number"),
        ({"valid_before": 0}, "invalid_value", "valid_before", "0 must be at least 1"),
        ({"valid_before": 2**63}, "invalid_value", "valid_before", f"{2**63} must be at most {2**63 - 1}"),
        ({"capture": 1}, "invalid_value", "capture", "1 must be true or false"),
        ({"payer": 5}, "invalid_value", "payer", "5 must be a string"),
        ({"payer": PAYEE.replace("C", "c", 1)}, "invalid_value", "payer", "wrong checksum"),
        ({"payer": ...}, "missing_field", "payer", "payer is missing: Account of the buyer."),
        ({"payer": None}, "missing_field", "payer", "payer is missing: Account of the buyer."),
        ({"tip": 1, "payer": ...}, "unknown_field", "tip", "tip: unknown field, expected id, payer, amount"),
        ({"amount": "0", "payer": 5}, "invalid_value", "payer", "5 must be a string"),
    ],
)
def test_error_names_code_and_argument(changes: dict[str, Any], code: str, argument: str, message: str) -> None:
    body = payment(**changes)
    error = rejected(PaymentRequest, body)
    assert (error[:2], message in error[2]) == ((code, argument), True), error
    in_batch = rejected(PaymentBatchRequest, {"payments": [payment(), body, {}]})
    assert (in_batch[:2], message in in_batch[2]) == ((code, f"payments[1].{argument}"), True), in_batch


@pytest.mark.parametrize(
    ("body", "code", "argument", "message"),
    [
        ([], "invalid_body", None, "the body must be an object, got []"),
        ({"recipients": None}, "missing_field", "recipients", "recipients is missing: Recipients and amounts."),
        ({"recipients": {}}, "invalid_value", "recipients", "recipients: {} must be a list"),
        ({"recipients": []}, "invalid_value", "recipients", "recipients: must have at least 1 item"),
        (
            {"recipients": [{"recipient": PAYEE, "amount": "1"}] * 101},
            "invalid_value",
            "recipients",
            "recipients: must have at most 100 items",
        ),
        ({"recipients": [5]}, "invalid_body", "recipients[0]", "recipients[0]: must be an object, got 5"),
        ({"recipients": [None]}, "invalid_body", "recipients[0]", "recipients[0]: must be an object, got None"),
        (
            {"recipients": [{}], "tip": 1},
            "unknown_field",
            "tip",
            "tip: unknown field, expected reference, destination, recipients",
        ),
        (
            {"recipients": [{"recipient": PAYEE, "amount": "0"}]},
            "invalid_value",
            "recipients[0].amount",
            "recipients[0].amount: must not be 0",
        ),
    ],
)
def test_error_in_a_list_has_its_path(body: Any, code: str, argument: str | None, message: str) -> None:
    assert rejected(NewPayout, body) == (code, argument, message)


def test_body_without_fields_accepts_only_an_empty_object() -> None:
    assert parse_body(NoFields, b"") == (NoFields(), b"{}")
    assert rejected(NoFields, {"a": 1}) == ("unknown_field", "a", "a: unknown field, expected no fields")


def test_fingerprint_of_a_body_never_changes() -> None:
    # Databases store fingerprints of earlier requests. The canonical form contains the values as they were sent.
    raw = (
        b'{"valid_before": 1900000000, "payer": "0x036cbd53842c5426634e7929541ec2318f3dcf7e", "id": null, "amount": '
        b'"5", "capture": false, "nonce": "' + b"ab" * 32 + b'", "signature": "0x"}'
    )
    _, canonical = parse_body(PaymentRequest, raw)
    expected = (
        b'{"amount":"5","capture":false,"id":null,"nonce":"' + b"ab" * 32 + b'",'
        b'"payer":"0x036cbd53842c5426634e7929541ec2318f3dcf7e","signature":"0x","valid_before":1900000000}'
    )
    assert canonical == expected
    assert (
        fingerprint("POST", "/v1/payments", canonical) == hashlib.sha256(b"POST\n/v1/payments\n" + expected).hexdigest()
    )


def test_query_values_are_converted_from_text() -> None:
    query = parse_fields(OrdersQuery, {"limit": "20", "state": "Used, captured", "tx_status": "unknown"})
    assert (query.limit, query.state, query.tx_status) == (20, OrderState.CAPTURED, TxStatus.UNKNOWN)
    assert parse_fields(OrdersQuery, {}).limit == 50
    for limit in ("0", "201", "²", "1_0", " 5", "+5", "5.0", "9" * 30):
        with pytest.raises(ApiError) as error:
            parse_fields(OrdersQuery, {"limit": limit})
        assert (error.value.code, error.value.argument) == ("invalid_value", "limit")
    with pytest.raises(ApiError, match="tx_status: 'idle' must be 'intended', 'broadcast', 'unknown' or 'failed'"):
        parse_fields(OrdersQuery, {"tx_status": "idle"})


def test_active_status_has_all_values_but_idle() -> None:
    assert set(get_args(ActiveTxStatus.__value__)) == {status.value for status in TxStatus} - {"idle"}


def test_document_names_the_schemas_of_bodies_and_responses() -> None:
    openapi = document(ROUTES)
    schemas = openapi["components"]["schemas"]
    for route in ROUTES:
        operation = openapi["paths"][route.path][route.method.lower()]
        names = [type_.__name__.removesuffix("View") for type_ in route.answers.values() if not isinstance(type_, str)]
        if route.models.body is not NoFields:
            names.append(route.models.body.__name__)
            body = operation["requestBody"]["content"]["application/json"]["schema"]
            assert body == {"$ref": f"#/components/schemas/{names[-1]}"}
            assert schemas[names[-1]]["additionalProperties"] is False
        assert set(names) <= set(schemas)
        described = {each["name"] for each in operation["parameters"] if each["description"]}
        assert described >= {*route.models.path.model_fields, *route.models.query.model_fields}
    assert schemas["ActiveTxStatus"]["enum"] == list(get_args(ActiveTxStatus.__value__))
    assert schemas["OrderState"]["enum"] == [state.value for state in OrderState]
    assert set(schemas["Order"]["required"]) == set(schemas["Order"]["properties"])
    assert not {name for name in schemas if name.endswith(("Path", "Query"))}


def test_duplicate_among_many_fields_is_found_in_one_pass() -> None:
    class Name(str):
        compared = 0

        def __eq__(self, other: object) -> bool:
            Name.compared += 1
            return super().__eq__(other)

        __hash__ = str.__hash__

    members = [(Name(number), 0) for number in range(99)]
    with pytest.raises(ApiError, match="98: the field occurs more than once"):
        _check_members([*members, (Name(98), 0)])
    assert Name.compared < 1_000


def test_objects_have_a_maximum_of_fields() -> None:
    body = b"{" + b",".join(b'"%d": 0' % number for number in range(101)) + b"}"
    for raw in (body, b'{"items": [' + body + b"]}"):
        with pytest.raises(ApiError, match="an object has 101 fields, at most 100 are allowed") as rejected:
            parse_body(NoFields, raw)
        assert rejected.value.code == "invalid_body"
