"""Codes of error responses, for the reference page."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A code of error responses."""

    code: str
    status: int
    meaning: str


ERROR_CODES = (
    ErrorCode("invalid_body", 400, "The body is not a JSON object."),
    ErrorCode("duplicate_field", 400, "The body has the same field twice."),
    ErrorCode("unknown_field", 400, "The request has no such field or parameter."),
    ErrorCode("missing_field", 400, "A required field or parameter is missing."),
    ErrorCode("invalid_value", 400, "A field, a parameter or a header has an invalid value."),
    ErrorCode("idempotency_key_missing", 400, "A POST needs one Idempotency-Key."),
    ErrorCode("invalid_api_key", 401, "The API key is missing, unknown or revoked."),
    ErrorCode("insufficient_role", 403, "The role of the API key does not permit the request."),
    ErrorCode("origin_not_allowed", 403, "Pages of this origin may not call the checkout."),
    ErrorCode("cross_origin", 403, "A page of another origin sent the request with the cookie of a session."),
    ErrorCode("invalid_csrf_token", 403, "A change with the cookie of a session lacks the token of the session."),
    ErrorCode("not_found", 404, "No resource has this id."),
    ErrorCode("no_such_path", 404, "The path does not exist."),
    ErrorCode("checkout_disabled", 404, "The configuration has no section `[checkout]`."),
    ErrorCode("method_not_allowed", 405, "The path does not support the method."),
    ErrorCode("duplicate", 409, "The id, the authorization or the transfer is already used."),
    ErrorCode("not_allowed", 409, "The state does not allow the request."),
    ErrorCode("payer_mismatch", 409, "The order has another payer."),
    ErrorCode("already_authorized", 409, "A shopper has signed the order."),
    ErrorCode("already_paid", 409, "The order is paid."),
    ErrorCode("order_canceled", 409, "The shop has canceled the order."),
    ErrorCode("order_expired", 409, "The order has expired."),
    ErrorCode("not_refundable", 409, "The capture or transfer is not refundable."),
    ErrorCode("confirmation_required", 409, "The request needs a confirmation; `argument` names the field."),
    ErrorCode("not_covered", 409, "The amount exceeds what is available."),
    ErrorCode("account_forbidden", 409, "The token forbids an account."),
    ErrorCode("not_funded", 409, "The merchant's balance or allowance does not suffice."),
    ErrorCode("not_capturable", 409, "The order cannot be captured now; `reason` is the obstacle."),
    ErrorCode("not_cancelable", 409, "The authorization cannot be canceled."),
    ErrorCode("still_open", 409, "An earlier transaction of the object has no outcome yet."),
    ErrorCode("would_revert", 409, "The transaction would revert."),
    ErrorCode("gas_too_high", 409, "The call needs more gas than a transaction, or a payer's code, may have."),
    ErrorCode(
        "gas_budget_spent", 409, "Reverted transactions of the payer cost its budget of gas; repeat an hour later."
    ),
    ErrorCode("transaction_too_large", 409, "The transaction would have more bytes than nodes accept."),
    ErrorCode("in_progress", 409, "The same request is in progress; repeat it after Retry-After."),
    ErrorCode("destination_not_configured", 409, "The configuration has no destination with this token and payee."),
    ErrorCode("checkout_not_configured", 409, "The destination has no checkout contract (`checkout`)."),
    ErrorCode("payouts_not_configured", 409, "The destination has no payouts contract (`payouts`)."),
    ErrorCode("body_too_large", 413, "The request body is too large."),
    ErrorCode("invalid_signature", 422, "The signature is not the payer's for these terms."),
    ErrorCode("code_timeout", 422, "The payer is a contract whose code did not end within the time limit."),
    ErrorCode("idempotency_key_reused", 422, "The Idempotency-Key was used for another request."),
    ErrorCode("too_many_requests", 429, "A shopper sends too many requests; repeat after Retry-After."),
    ErrorCode("too_many_attempts", 429, "The address signed in with wrong API keys; wait for Retry-After."),
    ErrorCode("internal", 500, "Internal error; repeat the same request."),
    ErrorCode("node_rejected", 502, "The node rejected the request."),
    ErrorCode("node_error", 502, "The node returned an invalid response."),
    ErrorCode("node_unreachable", 503, "The node does not respond."),
    ErrorCode("chain_reorganized", 503, "The chain was reorganized during the request."),
    ErrorCode("database_unavailable", 503, "The database does not respond."),
    ErrorCode("concurrent_update", 503, "Another request changed the object."),
    ErrorCode("fee_too_high", 503, "The fee exceeds the configured maximum."),
    ErrorCode(
        "gas_budget_in_use", 503, "Payers with code have transactions without a receipt; repeat after Retry-After."
    ),
    ErrorCode("transaction_not_sent", 503, "The transaction could not be sent."),
    ErrorCode("overloaded", 503, "Too many requests wait, or those in progress are too many or too large."),
    ErrorCode("signer_unavailable", 503, "The signer did not sign; repeat the same request."),
)
"""Every code, by status."""
