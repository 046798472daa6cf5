"""Names of the clients' methods. An operation without a name is an error, so that no endpoint is forgotten."""

import re

METHODS = {
    "post_payments": "create_payment",
    "post_payments_batch": "create_payments",
    "post_orders": "create_order",
    "get_orders": "list_orders",
    "get_orders_id": "get_order",
    "get_orders_id_typed_data": "get_order_typed_data",
    "get_orders_id_checkout_link": "get_order_checkout_link",
    "get_orders_id_timeline": "get_order_timeline",
    "post_orders_id_signature": "submit_order_signature",
    "post_orders_id_capture": "capture_order",
    "post_orders_id_void": "void_order",
    "post_orders_id_cancel": "cancel_order",
    "post_orders_id_refunds": "refund_order",
    "get_refunds": "list_refunds",
    "get_refunds_id": "get_refund",
    "get_refunds_id_timeline": "get_refund_timeline",
    "post_payouts": "create_payout",
    "get_payouts": "list_payouts",
    "post_splits": "create_split",
    "post_payouts_preview": "preview_payout",
    "post_splits_preview": "preview_split",
    "get_payouts_id": "get_payout",
    "get_payouts_id_timeline": "get_payout_timeline",
    "get_unmatched_transfers": "list_unmatched_transfers",
    "post_unmatched_transfers_transaction_position_resolution": "resolve_unmatched_transfer",
    "post_unmatched_transfers_transaction_position_refund": "refund_unmatched_transfer",
    "get_balance": "get_balance",
    "get_export_csv": "export_csv",
    "get_export_jsonl": "export_json_lines",
    "get_statistics": "get_statistics",
    "post_webhooks": "create_webhook",
    "get_webhooks": "list_webhooks",
    "post_webhooks_id_update": "update_webhook",
    "post_webhooks_id_rotate_secret": "rotate_webhook_secret",
    "post_webhooks_id_test": "test_webhook",
    "post_webhooks_id_retire": "retire_webhook",
    "get_deliveries": "list_deliveries",
    "post_deliveries_id_retry": "retry_delivery",
    "post_api_keys": "create_api_key",
    "get_api_keys": "list_api_keys",
    "post_api_keys_id_revoke": "revoke_api_key",
    "get_healthz": "get_health",
}
"""Methods by operationId."""
OMITTED = {"get_metrics", "get_openapi_json"}
"""Operations for other programs than a merchant's: the description of the API, and metrics."""

_SINGULAR = {
    "orders": "order",
    "refunds": "refund",
    "payouts": "payout",
    "webhooks": "webhook",
    "deliveries": "delivery",
    "api-keys": "api_key",
}


def path_argument(path: str, parameter: str) -> str:
    """Return the argument for a path parameter: `order_id` for `/v1/orders/{id}`."""
    if parameter != "id":
        return parameter
    match = re.search(r"/([a-z-]+)/\{id\}", path)
    assert match is not None, path
    return f"{_SINGULAR[match[1]]}_id"
