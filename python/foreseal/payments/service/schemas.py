"""JSON Schemas of the service's responses (OpenAPI 3.1, whose schemas are JSON Schema 2020-12)."""

from collections.abc import Mapping
from typing import Any

from foreseal.payments.ledger import EFFECTED, DisbursementState, OrderState, Step
from foreseal.payments.ledger.tables import Ending, Purpose, Reason
from foreseal.payments.service.tables import Delivery, Origin

Schema = Mapping[str, Any]

UNITS: Schema = {"type": "string", "pattern": "^[0-9]+$", "description": "Smallest units."}
SHOWN: Schema = {"type": "string", "description": "Whole tokens, for people.", "examples": ["12.340000 USDC"]}
ADDRESS: Schema = {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"}
HASH: Schema = {"type": "string", "pattern": "^0x[0-9a-f]{64}$"}
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer", "minimum": 0}
TIME: Schema = {"type": "integer", "minimum": 0, "description": "Seconds since 1970."}
FLAG: Schema = {"type": "boolean"}


def words(enumeration: Any) -> Schema:
    """Return the schema of an enumeration's values."""
    return {"type": "string", "enum": [word.value for word in enumeration]}


def nullable(schema: Schema) -> Schema:
    """Return the schema of a value or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def ref(name: str) -> Schema:
    """Return a reference to one of the schemas below."""
    return {"$ref": f"#/components/schemas/{name}"}


def many(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def whole(**properties: Schema) -> Schema:
    """Return the schema of an object with exactly these properties, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def page(name: str) -> Schema:
    """Return the schema of one page of a list."""
    return whole(items=many(ref(name)), next={**nullable(TEXT), "description": "The cursor of the next page, or null."})


_MONEY = {"amount": UNITS, "amount_shown": SHOWN}
_TRANSFER = {
    "transaction": HASH,
    "log_index": WHOLE,
    "position": {**WHOLE, "description": "Of the Transfer among the transaction's logs."},
    "block": WHOLE,
    "sender": ADDRESS,
    "final": FLAG,
    **_MONEY,
}
_DISBURSEMENT = {"state": words(DisbursementState), "step": words(Step)}

SCHEMAS: dict[str, Schema] = {
    "Error": whole(
        error=whole(
            code=TEXT, message=TEXT, argument={**nullable(TEXT), "description": "The field at fault, if it is one."}
        )
    ),
    "Order": whole(
        id=TEXT,
        state=words(OrderState),
        step=words(Step),
        chain_id=WHOLE,
        token=ADDRESS,
        payer=ADDRESS,
        payee=ADDRESS,
        **_MONEY,
        checkout={**nullable(ADDRESS), "description": "Of an order whose amount is the most that may be captured."},
        valid_after=TIME,
        valid_before=TIME,
        nonce=HASH,
        memo={**HASH, "description": "By which a transfer with a memo names the order."},
        created=TIME,
        payment=nullable(ref("Payment")),
        refunded={**UNITS, "description": "Refunds, those under way too."},
        refunded_shown=SHOWN,
    ),
    "Payment": whole(**_TRANSFER, block_hash=TEXT, step=words(EFFECTED)),
    "Transaction": whole(
        purpose=words(Purpose), account_nonce=WHOLE, hashes=many(HASH), ending=nullable(words(Ending))
    ),
    "OrderDetail": whole(order=ref("Order"), transactions=many(ref("Transaction"))),
    "OrderToSign": whole(order=ref("Order"), typed_data=ref("TypedData")),
    "TypedData": {
        "type": "object",
        "description": "For eth_signTypedData_v4.",
        "required": ["types", "primaryType", "domain", "message"],
    },
    "Refund": whole(
        id=TEXT, order_id=TEXT, **_DISBURSEMENT, chain_id=WHOLE, token=ADDRESS, recipient=ADDRESS, **_MONEY
    ),
    "RefundDetail": whole(refund=ref("Refund"), transactions=many(ref("Transaction"))),
    "Leg": whole(recipient=ADDRESS, **_MONEY),
    "Payout": whole(
        id=HASH,
        **_DISBURSEMENT,
        chain_id=WHOLE,
        token=ADDRESS,
        contract=ADDRESS,
        **_MONEY,
        recipients=many(ref("Leg")),
    ),
    "PayoutDetail": whole(payout=ref("Payout"), transactions=many(ref("Transaction"))),
    "Entry": whole(
        id=WHOLE,
        subject={"type": "string", "enum": ["orders", "refunds", "payouts"]},
        subject_id=TEXT,
        time=TIME,
        trigger=TEXT,
        before=nullable(TEXT),
        after=TEXT,
        details={"type": "object"},
    ),
    "Timeline": whole(items=many(ref("Entry"))),
    "Suspended": whole(
        **_TRANSFER,
        reason=words(Reason),
        order_id=nullable(TEXT),
        resolution=nullable(whole(note=TEXT, by=TEXT, time=TIME)),
    ),
    "Balance": whole(
        received=UNITS,
        captured=UNITS,
        suspended=UNITS,
        refunded=UNITS,
        reserved=UNITS,
        faults={**many(TEXT), "description": "What does not add up; empty if all is well."},
    ),
    "Hook": whole(id=TEXT, url=TEXT, origin=words(Origin), created=TIME, retired=nullable(TIME)),
    "HookMade": whole(hook=ref("Hook"), secret={**TEXT, "description": "Signs; it is shown this once."}),
    "Hooks": whole(items=many(ref("Hook"))),
    "Delivery": whole(
        id=WHOLE,
        hook_id=TEXT,
        entry_id=WHOLE,
        subject=TEXT,
        subject_id=TEXT,
        state=words(Delivery),
        attempts=WHOLE,
        due=TIME,
        error=TEXT,
    ),
    "Health": whole(
        status={"type": "string", "enum": ["ok", "failing"]},
        node=whole(answers=FLAG, block=nullable(WHOLE), told=TEXT),
        worker=whole(
            read={**nullable(WHOLE), "description": "Block up to which transfers are read."},
            latest=nullable(WHOLE),
            caught_up=FLAG,
            passed={**nullable({"type": "number"}), "description": "Seconds since 1970 of the last whole pass."},
            errors=WHOLE,
        ),
        processes=WHOLE,
        webhooks=whole(waiting=WHOLE, dead=WHOLE),
    ),
    "Document": {"type": "object", "description": "OpenAPI 3.1.", "required": ["openapi", "info", "paths"]},
    **{f"{name}Page": page(name) for name in ("Order", "Refund", "Payout", "Suspended", "Delivery")},
}
