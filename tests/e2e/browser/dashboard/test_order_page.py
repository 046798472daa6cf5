"""The page of an order: confirmations with amount and recipient, their results, and the timeline of its money."""

import datetime
import re

import pytest
from playwright.sync_api import Page, expect

from browser import Chromium, serious_findings
from browser.explorer import check_layout
from dashboard_pages import Shop, confirm, result
from foreseal.payments.api.roles import Role
from live.blocks import wait_for
from payments.api.serving import BUYERS, MERCHANT, signature

WIDTHS = (390, 1024, 1200, 1440)
MARGIN = 60
"""Default of `policy.margin_seconds`."""
LONG_TEXT = "Invoice-of-a-customer-with-a-long-name-1"


def short(address: str) -> str:
    """Return an address as the pages shorten it."""
    return f"{address[:8]}\u2026{address[-4:]}"


def expect_parties(page: Page, sender: str, receiver: str) -> None:
    """Expect sender and receiver in the open dialog."""
    facts = page.get_by_role("dialog").locator(".facts > div")
    expect(facts.filter(has_text="From")).to_contain_text(short(sender))
    expect(facts.filter(has_text="To")).to_contain_text(short(receiver))


def test_capture_and_refund_name_amount_and_recipient_and_report(shop: Shop, page: Page) -> None:
    buyer = BUYERS[1].address
    with shop.client() as client:
        client.stored("confirmed-money", 2_500_000, BUYERS[1])
    shop.sign_in(page, path="/orders/confirmed-money")
    expect(result(page)).to_have_text("")
    page.get_by_role("button", name="Capture").click()
    expect(page.get_by_role("dialog")).to_contain_text("2.50 USDC")
    expect_parties(page, buyer, MERCHANT.address)
    confirm(page, "Capture")
    expect(result(page)).to_have_text(f"Capture of 2.50 USDC to {short(MERCHANT.address)} submitted.")
    expect(page.locator(".page-head")).to_contain_text("final")
    page.get_by_role("button", name="Refund").click()
    expect_parties(page, MERCHANT.address, buyer)
    page.get_by_label("Amount to refund").fill("0.5")
    assert serious_findings(page) == []
    confirm(page, "Refund")
    expect(result(page)).to_have_text(f"Refund of 0.50 USDC to {short(buyer)} submitted.")
    assert serious_findings(page) == []
    page.get_by_role("link", name="Orders").click()
    expect(page.get_by_role("heading", name="Search")).to_be_visible()
    expect(result(page)).to_have_text("")


def test_void_names_amount_and_reports(shop: Shop, page: Page) -> None:
    with shop.client() as client:
        client.stored("confirmed-void", 1_000_000, BUYERS[2])
    shop.sign_in(page, Role.CASHIER, "/orders/confirmed-void")
    page.get_by_role("button", name="Void").click()
    expect(page.get_by_role("dialog")).to_contain_text("1.00 USDC")
    expect_parties(page, BUYERS[2].address, MERCHANT.address)
    confirm(page, "Void")
    expect(result(page)).to_have_text("Order voided: 1.00 USDC will not be captured.")


def test_timeline_shows_all_movements_of_money_in_order(shop: Shop, page: Page) -> None:
    id = shop.captured("timeline", 3_000_000, BUYERS[3])
    with shop.client() as client:
        payment = client.get(f"/v1/orders/{id}")["order"]["payment"]
        client.made(f"/v1/orders/{id}/refunds", {"id": "part", "amount": "1250000"})
    shop.sign_in(page, Role.READER, f"/orders/{id}")
    entries = page.locator(".timeline > li")
    captured = entries.filter(has=page.get_by_text("Captured", exact=True))
    expect(captured).to_contain_text("3.00 USDC")
    link = captured.get_by_role("link", name=short(payment["transaction_hash"])[:9])
    expect(link).to_have_attribute("href", f"http://127.0.0.1:1/explorer/tx/{payment['transaction_hash']}")
    refunded = entries.filter(has=page.get_by_text("Refund completed", exact=True))
    expect(refunded).to_contain_text("1.25 USDC")
    expect(refunded).to_contain_text(short(BUYERS[3].address))
    expect(refunded.locator("time").first).to_be_visible()
    expect(refunded.locator("dt").filter(has_text="transaction")).to_have_count(1)
    names = entries.locator("strong").all_inner_texts()
    assert names.index("Created") < names.index("Captured") < names.index("Refund created")
    assert names.index("Refund created") < names.index("Refund completed")
    expect(page.locator(".timeline")).not_to_contain_text("null")


def test_partly_refunded_order_names_its_refund_everywhere(shop: Shop, page: Page) -> None:
    id = shop.captured(
        "returned-in-part", 12_500_000, BUYERS[3], metadata={"description": "Pending mug"}, reference="Invoice 12"
    )
    with shop.client() as client:
        client.made(f"/v1/orders/{id}/refunds", {"amount": "5000000"})
        wait_for(lambda: client.get(f"/v1/refunds?order={id}")["items"][0]["finality"] == "final", 60, "final refund")
        payment = client.get(f"/v1/orders/{id}")["order"]["payment"]
    shop.sign_in(page, Role.READER, f"/orders/{id}")
    expect(page.locator(".page-head")).to_contain_text("Partly refunded")
    rows = page.get_by_role("region", name="Transactions of this order").locator("tbody tr")
    expect(rows.locator("td:first-child")).to_have_text(["capture", "refund"])
    refund = page.get_by_role("region", name="Refunds").locator("tbody tr")
    expect(refund).to_contain_text("Paid")
    expect(page.get_by_text("Payable until")).to_have_count(0)
    explorer = "http://127.0.0.1:1/explorer/block/"
    fact = page.locator(".facts > div").filter(has=page.get_by_text("Block", exact=True))
    block = fact.get_by_role("link")
    expect(block).to_have_attribute("href", f"{explorer}{payment['block_number']}")
    captured = page.locator(".timeline > li").filter(has=page.get_by_text("Captured", exact=True))
    block = captured.locator(".details > div").filter(has=page.get_by_text("block", exact=True)).get_by_role("link")
    expect(block).to_have_attribute("href", f"{explorer}{payment['block_hash']}")
    refunded = page.locator(".timeline > li").filter(has=page.get_by_text("Refund completed", exact=True))
    number = refunded.locator(".details > div").filter(has_text="block number").get_by_role("link")
    expect(number).to_have_attribute("href", re.compile(re.escape(explorer) + r"\d+$"))
    page.get_by_role("link", name="Orders").click()
    row = page.get_by_role("region", name="Orders, newest first").get_by_role("row").filter(has_text=id)
    for text in ("Partly refunded", "Pending mug", "Invoice 12", "5.00 USDC"):
        expect(row).to_contain_text(text)


def test_open_order_is_payable_until_its_checkout_ends(shop: Shop, page: Page) -> None:
    with shop.client() as client:
        made = client.made("/v1/orders", {"id": "payable", "amount": "1250000"})
    shop.sign_in(page, Role.READER, "/orders/payable")
    row = page.locator(".facts > div").filter(has_text="Payable until")
    ends = datetime.datetime.fromtimestamp(made["order"]["valid_before"] - MARGIN, datetime.UTC)
    expect(row.locator("time").first).to_have_attribute("datetime", f"{ends:%Y-%m-%dT%H:%M:%S}.000Z")
    expect(row).to_contain_text(f"valid for {MARGIN} s longer")


def test_timeline_of_an_order_without_a_payer_shows_no_null(shop: Shop, page: Page) -> None:
    with shop.client() as client:
        client.made("/v1/orders", {"id": "no-payer", "amount": "1250000"})
        (event,) = client.get("/v1/orders/no-payer/timeline")["items"]
    assert event["data"]["details"]["payer"] is None
    shop.sign_in(page, Role.READER, "/orders/no-payer")
    entry = page.locator(".timeline > li")
    expect(entry).to_contain_text("1.25 USDC")
    expect(entry).not_to_contain_text("null")


def test_timeline_names_the_captured_part_of_a_maximum(shop: Shop, page: Page) -> None:
    with shop.client() as client:
        made = client.made("/v1/orders", {"id": "part-of-maximum", "payer": BUYERS[4].address, "maximum": "4000000"})
        client.made("/v1/orders/part-of-maximum/signature", {"signature": signature(BUYERS[4], made["typed_data"])})
    shop.sign_in(page, path="/orders/part-of-maximum")
    page.get_by_role("button", name="Capture").click()
    expect_parties(page, BUYERS[4].address, MERCHANT.address)
    page.get_by_label("Amount to capture").fill("1.5")
    confirm(page, "Capture")
    expect(result(page)).to_contain_text("Capture of 1.50 USDC")
    entries = page.locator(".timeline > li")
    expect(entries.filter(has=page.get_by_text("Created", exact=True))).to_contain_text("up to 4.00 USDC")
    expect(entries.filter(has=page.get_by_text("Captured", exact=True))).to_contain_text("1.50 USDC")


@pytest.mark.parametrize("width", WIDTHS)
def test_orders_fit_in_the_window(shop: Shop, chromium: Chromium, width: int) -> None:
    id = f"{width}-an-order-with-a-long-name-{'x' * 10}"
    with shop.client() as client:
        client.stored(id, 123_456_789_123, BUYERS[5], reference=LONG_TEXT)
        client.made("/v1/orders", {"id": f"waits-{width}", "amount": "1250000"})
    with chromium.page(phone=width == min(WIDTHS)) as opened:
        page = opened.page
        page.set_viewport_size({"width": width, "height": 800})
        shop.sign_in(page, Role.READER, "/orders")
        region = page.get_by_role("region", name="Orders, newest first")
        expect(region.get_by_role("link", name=id[:16])).to_be_visible()
        assert region.evaluate("(node) => node.scrollWidth - node.clientWidth") == 0
        check_layout(page)
        cell = region.get_by_role("row").filter(has_text=id[:16]).get_by_role("cell").last
        cell.scroll_into_view_if_needed()
        expect(cell).to_be_in_viewport(ratio=1)
        assert serious_findings(page) == []


def test_order_and_its_dialog_fit_on_a_phone(shop: Shop, chromium: Chromium) -> None:
    with shop.client() as client:
        client.stored("on-a-phone", 1_000_000, BUYERS[0], reference=LONG_TEXT)
    with chromium.page(phone=True) as opened:
        shop.sign_in(opened.page, path="/orders/on-a-phone")
        opened.page.get_by_role("button", name="Capture").click()
        expect(opened.page.get_by_role("dialog")).to_be_visible()
        check_layout(opened.page)
        confirm(opened.page, "Capture")
        expect(opened.page.get_by_text("Captured", exact=True).first).to_be_visible()
        check_layout(opened.page)
