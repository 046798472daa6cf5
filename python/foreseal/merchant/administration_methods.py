"""Methods of a blocking client, one for each operation of the administration.

`make merchant-client` generates this file from the OpenAPI document of the service.
"""

from collections.abc import Sequence

from foreseal.merchant.administration import (
    ApiKey,
    ApiKeys,
    ApiKeySecret,
    Delivery,
    DeliveryPage,
    Statistics,
    Webhook,
    Webhooks,
    WebhookSecret,
)
from foreseal.merchant.iterators import PageIterators
from foreseal.merchant.transport import segment
from foreseal.merchant.values import DeliveryState, EventFilter, Role


class AdministrationMethods(PageIterators):
    """One method for each operation of the administration."""

    def get_statistics(self, *, created_from: int | None = None, created_before: int | None = None) -> Statistics:
        """Return numbers and volume of orders by day of their creation (UTC) and token."""
        return self._get(Statistics, "/v1/statistics", {"created_from": created_from, "created_before": created_before})

    def create_webhook(
        self, *, url: str, events: Sequence[EventFilter] | None = None, idempotency_key: str | None = None
    ) -> WebhookSecret:
        """Register a target, which receives events from now on."""
        return self._post(WebhookSecret, "/v1/webhooks", {"url": url, "events": events}, idempotency_key)

    def list_webhooks(self) -> Webhooks:
        """List all targets."""
        return self._get(Webhooks, "/v1/webhooks", {})

    def retire_webhook(self, webhook_id: str, *, idempotency_key: str | None = None) -> Webhook:
        """Send no further events to a target, and drop its pending deliveries."""
        return self._post(Webhook, f"/v1/webhooks/{segment(webhook_id)}/retire", {}, idempotency_key)

    def update_webhook(
        self,
        webhook_id: str,
        *,
        url: str | None = None,
        events: Sequence[EventFilter] | None = None,
        idempotency_key: str | None = None,
    ) -> Webhook:
        """Change the URL or the event types of a registered target."""
        return self._post(
            Webhook, f"/v1/webhooks/{segment(webhook_id)}/update", {"url": url, "events": events}, idempotency_key
        )

    def rotate_webhook_secret(
        self, webhook_id: str, *, overlap_seconds: int | None = None, idempotency_key: str | None = None
    ) -> WebhookSecret:
        """Replace the secret of a registered target; the replaced one signs as well for a while."""
        return self._post(
            WebhookSecret,
            f"/v1/webhooks/{segment(webhook_id)}/rotate-secret",
            {"overlap_seconds": overlap_seconds},
            idempotency_key,
        )

    def test_webhook(self, webhook_id: str, *, idempotency_key: str | None = None) -> Delivery:
        """Send the event webhook.test to one target."""
        return self._post(Delivery, f"/v1/webhooks/{segment(webhook_id)}/test", {}, idempotency_key)

    def list_deliveries(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        state: DeliveryState | None = None,
        webhook: str | None = None,
    ) -> DeliveryPage:
        """List deliveries to targets, newest first."""
        return self._get(
            DeliveryPage, "/v1/deliveries", {"limit": limit, "cursor": cursor, "state": state, "webhook": webhook}
        )

    def retry_delivery(self, delivery_id: int, *, idempotency_key: str | None = None) -> Delivery:
        """Retry a dead delivery."""
        return self._post(Delivery, f"/v1/deliveries/{segment(delivery_id)}/retry", {}, idempotency_key)

    def create_api_key(self, *, name: str, role: Role, idempotency_key: str | None = None) -> ApiKeySecret:
        """Create an API key; only the first response contains it."""
        return self._post(ApiKeySecret, "/v1/api-keys", {"name": name, "role": role}, idempotency_key)

    def list_api_keys(self) -> ApiKeys:
        """List all API keys without their secrets."""
        return self._get(ApiKeys, "/v1/api-keys", {})

    def revoke_api_key(self, api_key_id: str, *, idempotency_key: str | None = None) -> ApiKey:
        """Revoke an API key, and end its sessions."""
        return self._post(ApiKey, f"/v1/api-keys/{segment(api_key_id)}/revoke", {}, idempotency_key)
