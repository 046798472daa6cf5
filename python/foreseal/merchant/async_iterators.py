"""Iteration over lists by an async client.

`make merchant-client` generates this file from the OpenAPI document of the service.
"""

from collections.abc import AsyncIterator
from typing import Literal

from foreseal.merchant.administration import Delivery
from foreseal.merchant.async_transport import AsyncTransport, segment
from foreseal.merchant.types import Event, Order, Payout, Refund, UnmatchedTransfer
from foreseal.merchant.values import ActiveTxStatus, DeliveryState, DisbursementState, Finality, OrderState, Reason


class AsyncPageIterators(AsyncTransport):
    """One method for each list of the API."""

    def iter_orders(
        self,
        *,
        limit: int | None = None,
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
    ) -> AsyncIterator[Order]:
        """Iterate over all pages of `list_orders`; `limit` is the size of a page."""
        return self._iterate(
            Order,
            "/v1/orders",
            {
                "limit": limit,
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

    def iter_order_timeline(
        self, order_id: str, *, limit: int | None = None, refunds: Literal["true", "false"] | None = None
    ) -> AsyncIterator[Event]:
        """Iterate over all pages of `get_order_timeline`; `limit` is the size of a page."""
        return self._iterate(Event, f"/v1/orders/{segment(order_id)}/timeline", {"limit": limit, "refunds": refunds})

    def iter_refunds(
        self,
        *,
        limit: int | None = None,
        created_from: int | None = None,
        created_before: int | None = None,
        state: DisbursementState | None = None,
        order: str | None = None,
    ) -> AsyncIterator[Refund]:
        """Iterate over all pages of `list_refunds`; `limit` is the size of a page."""
        return self._iterate(
            Refund,
            "/v1/refunds",
            {
                "limit": limit,
                "created_from": created_from,
                "created_before": created_before,
                "state": state,
                "order": order,
            },
        )

    def iter_refund_timeline(self, refund_id: str, *, limit: int | None = None) -> AsyncIterator[Event]:
        """Iterate over all pages of `get_refund_timeline`; `limit` is the size of a page."""
        return self._iterate(Event, f"/v1/refunds/{segment(refund_id)}/timeline", {"limit": limit})

    def iter_payouts(
        self,
        *,
        limit: int | None = None,
        created_from: int | None = None,
        created_before: int | None = None,
        state: DisbursementState | None = None,
    ) -> AsyncIterator[Payout]:
        """Iterate over all pages of `list_payouts`; `limit` is the size of a page."""
        return self._iterate(
            Payout,
            "/v1/payouts",
            {"limit": limit, "created_from": created_from, "created_before": created_before, "state": state},
        )

    def iter_payout_timeline(self, payout_id: str, *, limit: int | None = None) -> AsyncIterator[Event]:
        """Iterate over all pages of `get_payout_timeline`; `limit` is the size of a page."""
        return self._iterate(Event, f"/v1/payouts/{segment(payout_id)}/timeline", {"limit": limit})

    def iter_unmatched_transfers(
        self,
        *,
        limit: int | None = None,
        reason: Reason | None = None,
        resolved: Literal["true", "false"] | None = None,
    ) -> AsyncIterator[UnmatchedTransfer]:
        """Iterate over all pages of `list_unmatched_transfers`; `limit` is the size of a page."""
        return self._iterate(
            UnmatchedTransfer, "/v1/unmatched-transfers", {"limit": limit, "reason": reason, "resolved": resolved}
        )

    def iter_deliveries(
        self, *, limit: int | None = None, state: DeliveryState | None = None, webhook: str | None = None
    ) -> AsyncIterator[Delivery]:
        """Iterate over all pages of `list_deliveries`; `limit` is the size of a page."""
        return self._iterate(Delivery, "/v1/deliveries", {"limit": limit, "state": state, "webhook": webhook})
