"""JSON Schemas of the service's responses (OpenAPI 3.1, whose schemas are JSON Schema 2020-12)."""

from collections.abc import Mapping
from typing import Any

from foreseal.payments.api.models import DeliveryState, WebhookOrigin
from foreseal.payments.api.views import CHANGING_FIELDS
from foreseal.payments.ledger import DisbursementState, Finality, OrderState, TxStatus
from foreseal.payments.ledger.event_types import OBJECTS, TEST, TYPES
from foreseal.payments.ledger.models import Purpose, Reason, TxResult

Schema = Mapping[str, Any]

UNITS: Schema = {"type": "string", "pattern": "^[0-9]+$", "description": "Amount in smallest units."}
SHOWN: Schema = {"type": "string", "description": "Amount in tokens, for people.", "examples": ["12.340000 USDC"]}
ADDRESS: Schema = {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"}
HASH: Schema = {"type": "string", "pattern": "^0x[0-9a-f]{64}$"}
TEXT: Schema = {"type": "string"}
UNSIGNED: Schema = {"type": "integer", "minimum": 0}
TIME: Schema = {"type": "integer", "minimum": 0, "description": "Unix time in seconds."}
FLAG: Schema = {"type": "boolean"}
TX_STATUSES = tuple(status.value for status in TxStatus if status is not TxStatus.IDLE)
"""Statuses of a transaction under way."""


def enum_schema(enumeration: Any) -> Schema:
    """Return the schema of an enumeration's values."""
    return {"type": "string", "enum": [member.value for member in enumeration]}


def nullable(schema: Schema) -> Schema:
    """Return the schema of a value or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Schema:
    """Return a reference to one of the schemas below."""
    return {"$ref": f"#/components/schemas/{name}"}


def many(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def record_schema(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these properties, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def page(name: str) -> Schema:
    """Return the schema of one page of a list."""
    return record_schema(
        items=many(ref(name)), next={**nullable(TEXT), "description": "The cursor of the next page, or null."}
    )


_MONEY = {"amount": UNITS, "amount_shown": SHOWN}
_TRANSFER = {
    "transaction_hash": HASH,
    "log_index": UNSIGNED,
    "position": {**UNSIGNED, "description": "Position of the Transfer among the logs of the transaction."},
    "block_number": UNSIGNED,
    "sender": ADDRESS,
    "finality": enum_schema(Finality),
    **_MONEY,
}
_REFINED = {
    "finality": {
        **nullable(enum_schema(Finality)),
        "description": "Finality of the effect on the chain; null without one.",
    },
    "tx_status": {
        **nullable({"type": "string", "enum": list(TX_STATUSES)}),
        "description": "Status of the transaction in progress; null if there is none or its effect is on the chain.",
    },
}
_DISBURSEMENT = {"state": enum_schema(DisbursementState), **_REFINED}
_STATUS = {"state": TEXT, **_REFINED}
_PROBLEM = record_schema(code=TEXT, message={**TEXT, "description": "Description for people."})

_ERROR = record_schema(
    code=TEXT,
    message=TEXT,
    argument={**nullable(TEXT), "description": "The field, parameter or header at fault."},
    reason={**nullable(TEXT), "description": "Obstacle to a capture, as a code."},
)

SCHEMAS: dict[str, Schema] = {
    "Error": record_schema(error=_ERROR),
    "Order": record_schema(
        id=TEXT,
        state=enum_schema(OrderState),
        **_REFINED,
        chain_id=UNSIGNED,
        token=ADDRESS,
        payer=ADDRESS,
        payee=ADDRESS,
        **_MONEY,
        checkout={**nullable(ADDRESS), "description": "Contract that captures an order with a maximum."},
        valid_after=TIME,
        valid_before=TIME,
        nonce=HASH,
        memo={**HASH, "description": "Memo by which a transfer refers to the order."},
        created=TIME,
        payment=nullable(ref("Payment")),
        refunded={**UNITS, "description": "Sum of refunds, including pending ones."},
        refunded_shown=SHOWN,
    ),
    "Payment": record_schema(**_TRANSFER, block_hash=TEXT),
    "Transaction": record_schema(
        purpose=enum_schema(Purpose),
        account_nonce=UNSIGNED,
        hashes=many(HASH),
        result=nullable(enum_schema(TxResult)),
    ),
    "OrderDetail": record_schema(order=ref("Order"), transactions=many(ref("Transaction"))),
    "OrderPlaced": record_schema(order=ref("Order")),
    "PaymentBatch": record_schema(
        items=many(
            record_schema(
                status={**UNSIGNED, "description": "Status that the item would have as a request of its own."},
                order=nullable(ref("Order")),
                error=nullable(_ERROR),
            )
        )
    ),
    "OrderToSign": record_schema(order=ref("Order"), typed_data=ref("TypedData")),
    "TypedData": {
        "type": "object",
        "description": "Typed data for eth_signTypedData_v4.",
        "required": ["types", "primaryType", "domain", "message"],
    },
    "Refund": record_schema(
        id=TEXT, order_id=TEXT, **_DISBURSEMENT, chain_id=UNSIGNED, token=ADDRESS, recipient=ADDRESS, **_MONEY
    ),
    "RefundDetail": record_schema(refund=ref("Refund"), transactions=many(ref("Transaction"))),
    "Leg": record_schema(recipient=ADDRESS, **_MONEY),
    "Payout": record_schema(
        id=HASH,
        **_DISBURSEMENT,
        chain_id=UNSIGNED,
        token=ADDRESS,
        contract=ADDRESS,
        **_MONEY,
        recipients=many(ref("Leg")),
    ),
    "PayoutDetail": record_schema(payout=ref("Payout"), transactions=many(ref("Transaction"))),
    "Event": record_schema(
        id=TEXT,
        type={"type": "string", "enum": [*TYPES, TEST]},
        created=TIME,
        data=record_schema(
            object=ref("EventObject"),
            previous=nullable(record_schema(**_STATUS)),
            details={"type": "object", "description": "Hashes and amounts; `reason` is a code, `message` for people."},
        ),
    ),
    "Timeline": record_schema(items=many(ref("Event"))),
    "UnmatchedTransfer": record_schema(
        **_TRANSFER,
        reason=enum_schema(Reason),
        order_id=nullable(TEXT),
        resolution=nullable(record_schema(note=TEXT, by=TEXT, time=TIME)),
    ),
    "Balance": record_schema(
        received=UNITS,
        captured=UNITS,
        unmatched=UNITS,
        refunded=UNITS,
        reserved=UNITS,
        faults={**many(_PROBLEM), "description": "Contradictions; empty if the ledger is consistent."},
    ),
    "Webhook": record_schema(
        id=TEXT,
        url=TEXT,
        events={**nullable(many({"type": "string", "enum": list(TYPES)})), "description": "Types; null for all."},
        origin=enum_schema(WebhookOrigin),
        created=TIME,
        retired=nullable(TIME),
        previous_secret_expires={**nullable(TIME), "description": "Time until which a replaced secret signs as well."},
    ),
    "WebhookSecret": record_schema(
        webhook=ref("Webhook"), secret={**TEXT, "description": "Key of the signatures, shown only once."}
    ),
    "Webhooks": record_schema(items=many(ref("Webhook"))),
    "Delivery": record_schema(
        id=UNSIGNED,
        webhook_id=TEXT,
        event_id=TEXT,
        object={"type": "string", "enum": list(OBJECTS.values())},
        object_id=TEXT,
        state=enum_schema(DeliveryState),
        attempts=UNSIGNED,
        next_attempt=nullable(TIME),
        last_error=nullable(TEXT),
    ),
    "Health": record_schema(
        status={"type": "string", "enum": ["ok", "unhealthy"]},
        reasons={**many(_PROBLEM), "description": "Failed checks; empty if the service is healthy."},
        node=record_schema(reachable=FLAG, latest_block=nullable(UNSIGNED)),
        database=record_schema(reachable=FLAG),
        worker=record_schema(
            read_block={**nullable(UNSIGNED), "description": "Block up to which transfers are read."},
            latest_block=nullable(UNSIGNED),
            synced=FLAG,
            last_success={**nullable({"type": "number"}), "description": "Unix time in seconds of the last full pass."},
            consecutive_failures=UNSIGNED,
        ),
        processes=UNSIGNED,
        webhooks=record_schema(pending=UNSIGNED, dead=UNSIGNED),
    ),
    "Document": {"type": "object", "description": "OpenAPI 3.1.", "required": ["openapi", "info", "paths"]},
    **{f"{name}Page": page(name) for name in ("Order", "Refund", "Payout", "UnmatchedTransfer", "Delivery")},
}


def _event_object(kind: str, properties: Mapping[str, Schema]) -> Schema:
    constant = {name: schema for name, schema in properties.items() if name not in CHANGING_FIELDS}
    return record_schema(object={"const": kind}, **constant | {"state": TEXT})


_METADATA = {**nullable({"type": "object"}), "description": "The merchant's own data."}
_OWN = {"reference": nullable(TEXT), "metadata": _METADATA}
SCHEMAS["EventObject"] = {
    "description": "The object with its status after the event, without what may change later.",
    "anyOf": [
        _event_object("order", SCHEMAS["Order"]["properties"] | _OWN),
        _event_object("refund", SCHEMAS["Refund"]["properties"]),
        _event_object("payout", SCHEMAS["Payout"]["properties"]),
        _event_object("webhook", {"id": TEXT, "created": TIME, **_REFINED}),
    ],
}
