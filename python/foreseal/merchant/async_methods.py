"""Methods of an async client, one for each operation.

`make merchant-client` generates this file from the OpenAPI document of the service.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Literal

from foreseal.merchant.async_administration_methods import AsyncAdministrationMethods
from foreseal.merchant.async_transport import segment
from foreseal.merchant.health import Health
from foreseal.merchant.types import (
    Balance,
    CheckoutLink,
    OrderDetail,
    OrderPage,
    OrderPlaced,
    OrderSigned,
    OrderToSign,
    PaymentBatch,
    PaymentRequest,
    PayoutDetail,
    PayoutPage,
    PayoutPreview,
    Recipient,
    RefundDetail,
    RefundPage,
    Share,
    Timeline,
    TypedData,
    UnmatchedTransfer,
    UnmatchedTransferPage,
)
from foreseal.merchant.values import ActiveTxStatus, DisbursementState, Finality, OrderState, Reason


class AsyncMerchantMethods(AsyncAdministrationMethods):
    """One method for each operation."""

    async def create_payment(
        self,
        *,
        payer: str,
        amount: str,
        valid_before: int,
        nonce: str,
        signature: str,
        id: str | None = None,
        valid_after: int | None = None,
        capture: bool | None = None,
        destination: str | None = None,
        reference: str | None = None,
        metadata: dict[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> OrderPlaced:
        """Store a signed payment, and capture it if requested."""
        return await self._post(
            OrderPlaced,
            "/v1/payments",
            {
                "payer": payer,
                "amount": amount,
                "valid_before": valid_before,
                "nonce": nonce,
                "signature": signature,
                "id": id,
                "valid_after": valid_after,
                "capture": capture,
                "destination": destination,
                "reference": reference,
                "metadata": metadata,
            },
            idempotency_key,
        )

    async def create_payments(
        self, *, payments: Sequence[PaymentRequest], idempotency_key: str | None = None
    ) -> PaymentBatch:
        """Store many signed payments; each item of the response, in order, has its own outcome."""
        return await self._post(PaymentBatch, "/v1/payments/batch", {"payments": payments}, idempotency_key)

    async def create_order(
        self,
        *,
        id: str | None = None,
        payer: str | None = None,
        amount: str | None = None,
        maximum: str | None = None,
        valid_after: int | None = None,
        valid_before: int | None = None,
        valid_seconds: int | None = None,
        destination: str | None = None,
        reference: str | None = None,
        auto_capture: bool | None = None,
        metadata: dict[str, str] | None = None,
        success_url: str | None = None,
        cancel_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> OrderToSign:
        """Create an order; the response contains the typed data that the buyer signs."""
        return await self._post(
            OrderToSign,
            "/v1/orders",
            {
                "id": id,
                "payer": payer,
                "amount": amount,
                "maximum": maximum,
                "valid_after": valid_after,
                "valid_before": valid_before,
                "valid_seconds": valid_seconds,
                "destination": destination,
                "reference": reference,
                "auto_capture": auto_capture,
                "metadata": metadata,
                "success_url": success_url,
                "cancel_url": cancel_url,
            },
            idempotency_key,
        )

    async def list_orders(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        created_from: int | None = None,
        created_before: int | None = None,
        state: OrderState | None = None,
        finality: Finality | None = None,
        tx_status: ActiveTxStatus | None = None,
        destination: str | None = None,
        payer: str | None = None,
        nonce: str | None = None,
        id: str | None = None,
        reference: str | None = None,
        transaction: str | None = None,
        amount_from: str | None = None,
        amount_to: str | None = None,
    ) -> OrderPage:
        """List and search orders, newest first."""
        return await self._get(
            OrderPage,
            "/v1/orders",
            {
                "limit": limit,
                "cursor": cursor,
                "created_from": created_from,
                "created_before": created_before,
                "state": state,
                "finality": finality,
                "tx_status": tx_status,
                "destination": destination,
                "payer": payer,
                "nonce": nonce,
                "id": id,
                "reference": reference,
                "transaction": transaction,
                "amount_from": amount_from,
                "amount_to": amount_to,
            },
        )

    async def get_order(self, order_id: str, *, refunds: Literal["true", "false"] | None = None) -> OrderDetail:
        """Return an order."""
        return await self._get(OrderDetail, f"/v1/orders/{segment(order_id)}", {"refunds": refunds})

    async def get_order_typed_data(
        self, order_id: str, *, purpose: Literal["pay", "cancel"] | None = None, payer: str | None = None
    ) -> TypedData:
        """Return the typed data that the payer signs to pay or to cancel."""
        return await self._get(
            TypedData, f"/v1/orders/{segment(order_id)}/typed-data", {"purpose": purpose, "payer": payer}
        )

    async def get_order_checkout_link(self, order_id: str) -> CheckoutLink:
        """Return the payment link of an order."""
        return await self._get(CheckoutLink, f"/v1/orders/{segment(order_id)}/checkout-link", {})

    async def get_order_timeline(
        self,
        order_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        refunds: Literal["true", "false"] | None = None,
    ) -> Timeline:
        """Return the timeline of an order, oldest first."""
        return await self._get(
            Timeline, f"/v1/orders/{segment(order_id)}/timeline", {"limit": limit, "cursor": cursor, "refunds": refunds}
        )

    async def submit_order_signature(
        self, order_id: str, *, signature: str, payer: str | None = None, idempotency_key: str | None = None
    ) -> OrderSigned:
        """Verify and store the payer's signature, and capture an order with auto_capture."""
        return await self._post(
            OrderSigned,
            f"/v1/orders/{segment(order_id)}/signature",
            {"signature": signature, "payer": payer},
            idempotency_key,
        )

    async def capture_order(
        self, order_id: str, *, amount: str | None = None, idempotency_key: str | None = None
    ) -> OrderDetail:
        """Capture an order: submit the transaction and track its receipt."""
        return await self._post(
            OrderDetail, f"/v1/orders/{segment(order_id)}/capture", {"amount": amount}, idempotency_key
        )

    async def void_order(
        self, order_id: str, *, reason: str | None = None, idempotency_key: str | None = None
    ) -> OrderDetail:
        """Void an order, so that it is never captured."""
        return await self._post(
            OrderDetail, f"/v1/orders/{segment(order_id)}/void", {"reason": reason}, idempotency_key
        )

    async def cancel_order(self, order_id: str, *, signature: str, idempotency_key: str | None = None) -> OrderDetail:
        """Relay the payer's signed cancellation of a voided order."""
        return await self._post(
            OrderDetail, f"/v1/orders/{segment(order_id)}/cancel", {"signature": signature}, idempotency_key
        )

    async def refund_order(
        self, order_id: str, *, id: str | None = None, amount: str | None = None, idempotency_key: str | None = None
    ) -> RefundDetail:
        """Refund a part of a capture, or all of it, to the sender of its transfer."""
        return await self._post(
            RefundDetail, f"/v1/orders/{segment(order_id)}/refunds", {"id": id, "amount": amount}, idempotency_key
        )

    async def list_refunds(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        created_from: int | None = None,
        created_before: int | None = None,
        state: DisbursementState | None = None,
        order: str | None = None,
    ) -> RefundPage:
        """List refunds, newest first."""
        return await self._get(
            RefundPage,
            "/v1/refunds",
            {
                "limit": limit,
                "cursor": cursor,
                "created_from": created_from,
                "created_before": created_before,
                "state": state,
                "order": order,
            },
        )

    async def get_refund(self, refund_id: str) -> RefundDetail:
        """Return a refund."""
        return await self._get(RefundDetail, f"/v1/refunds/{segment(refund_id)}", {})

    async def get_refund_timeline(
        self, refund_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Timeline:
        """Return the timeline of a refund, oldest first."""
        return await self._get(
            Timeline, f"/v1/refunds/{segment(refund_id)}/timeline", {"limit": limit, "cursor": cursor}
        )

    async def create_payout(
        self,
        *,
        recipients: Sequence[Recipient],
        reference: str | None = None,
        destination: str | None = None,
        idempotency_key: str | None = None,
    ) -> PayoutDetail:
        """Pay up to 100 recipients in one transaction."""
        return await self._post(
            PayoutDetail,
            "/v1/payouts",
            {"recipients": recipients, "reference": reference, "destination": destination},
            idempotency_key,
        )

    async def list_payouts(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        created_from: int | None = None,
        created_before: int | None = None,
        state: DisbursementState | None = None,
    ) -> PayoutPage:
        """List payouts, newest first."""
        return await self._get(
            PayoutPage,
            "/v1/payouts",
            {
                "limit": limit,
                "cursor": cursor,
                "created_from": created_from,
                "created_before": created_before,
                "state": state,
            },
        )

    async def create_split(
        self,
        *,
        total: str,
        shares: Sequence[Share],
        reference: str | None = None,
        destination: str | None = None,
        remainder: int | None = None,
        idempotency_key: str | None = None,
    ) -> PayoutDetail:
        """Divide a sum by shares and pay it out."""
        return await self._post(
            PayoutDetail,
            "/v1/splits",
            {
                "total": total,
                "shares": shares,
                "reference": reference,
                "destination": destination,
                "remainder": remainder,
            },
            idempotency_key,
        )

    async def preview_payout(
        self, *, recipients: Sequence[Recipient], reference: str | None = None, destination: str | None = None
    ) -> PayoutPreview:
        """Check a payout as POST /v1/payouts does, and send nothing."""
        return await self._post(
            PayoutPreview,
            "/v1/payouts/preview",
            {"recipients": recipients, "reference": reference, "destination": destination},
            None,
        )

    async def preview_split(
        self,
        *,
        total: str,
        shares: Sequence[Share],
        reference: str | None = None,
        destination: str | None = None,
        remainder: int | None = None,
    ) -> PayoutPreview:
        """Check a split as POST /v1/splits does, and send nothing."""
        return await self._post(
            PayoutPreview,
            "/v1/splits/preview",
            {
                "total": total,
                "shares": shares,
                "reference": reference,
                "destination": destination,
                "remainder": remainder,
            },
            None,
        )

    async def get_payout(self, payout_id: str) -> PayoutDetail:
        """Return a payout."""
        return await self._get(PayoutDetail, f"/v1/payouts/{segment(payout_id)}", {})

    async def get_payout_timeline(
        self, payout_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Timeline:
        """Return the timeline of a payout, oldest first."""
        return await self._get(
            Timeline, f"/v1/payouts/{segment(payout_id)}/timeline", {"limit": limit, "cursor": cursor}
        )

    async def list_unmatched_transfers(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        reason: Reason | None = None,
        resolved: Literal["true", "false"] | None = None,
    ) -> UnmatchedTransferPage:
        """List unmatched transfers to the merchant, newest first."""
        return await self._get(
            UnmatchedTransferPage,
            "/v1/unmatched-transfers",
            {"limit": limit, "cursor": cursor, "reason": reason, "resolved": resolved},
        )

    async def resolve_unmatched_transfer(
        self, transaction: str, position: int, *, note: str, idempotency_key: str | None = None
    ) -> UnmatchedTransfer:
        """Record how an unmatched transfer was resolved."""
        return await self._post(
            UnmatchedTransfer,
            f"/v1/unmatched-transfers/{segment(transaction)}/{segment(position)}/resolution",
            {"note": note},
            idempotency_key,
        )

    async def get_balance(self) -> Balance:
        """Return sums and contradictions of the ledger."""
        return await self._get(Balance, "/v1/balance", {})

    def export_csv(
        self, *, block_time_from: int | None = None, block_time_before: int | None = None
    ) -> AsyncIterator[str]:
        """Export captured, granted, unmatched, refunded and paid out transfers as CSV, in chunks of text."""
        return self._stream(
            "/v1/export.csv", {"block_time_from": block_time_from, "block_time_before": block_time_before}
        )

    def export_json_lines(
        self, *, block_time_from: int | None = None, block_time_before: int | None = None
    ) -> AsyncIterator[str]:
        """Export the rows of the CSV, each as one line of JSON, in chunks of text."""
        return self._stream(
            "/v1/export.jsonl", {"block_time_from": block_time_from, "block_time_before": block_time_before}
        )

    async def refund_unmatched_transfer(
        self,
        transaction: str,
        position: int,
        *,
        id: str | None = None,
        destination: str | None = None,
        amount: str | None = None,
        note: str | None = None,
        confirm_shared_payee: bool | None = None,
        idempotency_key: str | None = None,
    ) -> RefundDetail:
        """Refund an unmatched transfer to its sender, and record that as its resolution."""
        return await self._post(
            RefundDetail,
            f"/v1/unmatched-transfers/{segment(transaction)}/{segment(position)}/refund",
            {
                "id": id,
                "destination": destination,
                "amount": amount,
                "note": note,
                "confirm_shared_payee": confirm_shared_payee,
            },
            idempotency_key,
        )

    async def get_health(self) -> Health:
        """Return the health of the service."""
        return await self._get(Health, "/healthz", {}, accepts_503=True)
