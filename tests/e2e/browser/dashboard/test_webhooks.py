"""Webhook endpoints and deliveries in the dashboard, with a real target."""

import contextlib
import sqlite3

from playwright.sync_api import Page, expect

from browser import BrowserPage
from dashboard_pages import Shop, confirm
from live.blocks import wait_for
from payments.api.serving import Shopper
from payments.webhook_receiver import WebhookReceiver

SECONDS = 30.0


def is_delivered(client: Shopper, event: str) -> bool:
    """Return True once the service recorded the receiver's answer, which is after the receiver sent it."""
    deliveries = client.get("/v1/deliveries")["items"]
    return any((each["event_id"], each["state"]) == (event, "delivered") for each in deliveries)


def secret(page: Page) -> str:
    """Return the secret that the page shows, and close it; it is not shown again."""
    text = page.get_by_label("webhook secret", exact=True).inner_text()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_label("webhook secret", exact=True)).to_have_count(0)
    assert text not in page.content()
    return text


def test_endpoint_is_added_tested_rotated_and_removed(shop: Shop, page: Page) -> None:
    shop.sign_in(page, path="/webhooks")
    with WebhookReceiver() as receiver:
        page.get_by_role("button", name="Add an endpoint").click()
        page.get_by_label("URL").fill(receiver.url)
        page.get_by_label("Event types").fill("order.captured, refund.completed")
        confirm(page, "Add")
        first = secret(page)
        row = page.get_by_role("region", name="Webhook endpoints").get_by_role("row").filter(has_text=receiver.url)
        expect(row).to_contain_text("2 types")
        row.get_by_role("button", name="Test").click()
        confirm(page, "Send")
        event = wait_for(
            lambda: next((event for event in receiver.got if event["type"] == "webhook.test"), None),
            SECONDS,
            "test event",
        )
        deliveries = page.get_by_role("region", name="Deliveries, newest first")
        # Other rows are events of money that is still moving, and those of other tests of the shop.
        tested = deliveries.get_by_role("row").filter(has_text=event["id"])
        expect(tested).to_have_count(1)
        with shop.client() as client:
            wait_for(lambda: is_delivered(client, event["id"]), SECONDS, "record of the delivery")
        page.get_by_role("button", name="Refresh").click()
        expect(tested).to_contain_text("delivered")
        row.get_by_role("button", name="New secret").click()
        confirm(page, "Replace")
        assert secret(page) != first
        row.get_by_role("button", name="Remove").click()
        confirm(page, "Remove")
        expect(row).to_contain_text("removed")
        expect(row.get_by_role("button")).to_have_count(0)


def test_endpoint_in_a_private_network_is_rejected_with_its_reason(shop: Shop, opened: BrowserPage) -> None:
    page = opened.page
    opened.faults.allow("400")
    shop.sign_in(page, path="/webhooks")
    page.get_by_role("button", name="Add an endpoint").click()
    page.get_by_label("URL").fill("http://169.254.169.254/latest")
    page.get_by_role("dialog").get_by_role("button", name="Add").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("url")
    expect(page.get_by_label("URL")).to_have_value("http://169.254.169.254/latest")


def test_failed_delivery_is_retried(shop: Shop, page: Page) -> None:
    async def fail(_: object) -> int:
        return 500

    async def accept(_: object) -> int:
        return 204

    with WebhookReceiver(fail) as receiver, shop.client() as client:
        hook = client.made("/v1/webhooks", {"url": receiver.url})["webhook"]["id"]
        id = client.made(f"/v1/webhooks/{hook}/test")["id"]
        wait_for(lambda: client.get(f"/v1/deliveries?webhook={hook}")["items"][0]["last_error"], SECONDS, "failure")
        # Sixteen attempts would need days.
        with contextlib.closing(sqlite3.connect(shop.database, timeout=60)) as database, database:
            database.execute("UPDATE deliveries SET state = 'dead' WHERE id = ?", (id,))
        receiver.answer = accept
        shop.sign_in(page, path="/webhooks")
        page.get_by_label("Show").select_option("Failed")
        row = page.get_by_role("region", name="Deliveries, newest first").get_by_role("row").filter(has_text="500")
        expect(row).to_contain_text("failed")
        row.get_by_role("button", name="Retry").click()
        confirm(page, "Retry")
        expect(page.get_by_text("No deliveries.")).to_be_visible()
        wait_for(
            lambda: client.get(f"/v1/deliveries?webhook={hook}")["items"][0]["state"] == "delivered",
            SECONDS,
            "delivery",
        )
        client.made(f"/v1/webhooks/{hook}/retire")
