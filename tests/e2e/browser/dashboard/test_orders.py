"""Orders in the dashboard: search, filters, voiding, the actions of each role, and use by keyboard."""

import datetime
import re
import uuid

import pytest
from playwright.sync_api import Page, expect

from browser import BrowserPage
from dashboard_pages import STAFF, Shop, confirm, focus_by_tab
from foreseal.payments.api.roles import Role
from payments.api.serving import BUYERS

REFUNDERS = (Role.REFUNDER, Role.ADMIN)
CASHIERS = (Role.CASHIER, Role.ADMIN)


@pytest.fixture(scope="module")
def captured_id(shop: Shop) -> str:
    """Return the id of a captured order."""
    return shop.captured(f"for-roles-{uuid.uuid4()}", 5_000_000, BUYERS[0])


def search(page: Page, **fields: str) -> None:
    """Fill the form with these texts only, and submit it."""
    for label in ("Order begins with", "Reference", "Payer", "Amount from", "Amount to", "From day", "Before day"):
        page.get_by_label(label).fill(fields.get(label.replace(" ", "_").lower(), ""))
    page.get_by_label("State").select_option(fields.get("state", "Any"))
    # The rows of an earlier search, which may be the same, stay until the answer.
    with page.expect_response(re.compile(r"/v1/orders\?")):
        page.get_by_role("button", name="Search").click()


def shown(page: Page, *ids: str) -> None:
    """Expect exactly these orders."""
    links = page.get_by_role("region", name="Orders, newest first").locator("tbody tr td:first-child a")
    if ids:
        expect(links).to_have_text(list(ids))
    else:
        expect(page.get_by_text("No order matches.")).to_be_visible()


def test_orders_are_found_by_each_field(shop: Shop, page: Page) -> None:
    with shop.client() as client:
        client.stored("find-1", 1_500_000, BUYERS[1], reference="Invoice 7")
        client.stored("find-2", 3_000_000, BUYERS[2], reference="Invoice 8")
        client.made("/v1/orders/find-2/void")
    shop.sign_in(page, Role.READER, "/orders?id=find-")
    shown(page, "find-2", "find-1")
    for fields, ids in (
        ({"reference": "Invoice 7"}, ["find-1"]),
        ({"payer": BUYERS[2].address}, ["find-2"]),
        ({"state": "Voided"}, ["find-2"]),
        ({"amount_from": "1.5", "amount_to": "2.999999"}, ["find-1"]),
        ({"amount_from": "3.000001"}, []),
    ):
        search(page, order_begins_with="find-", **fields)
        shown(page, *ids)
    today = datetime.datetime.now(datetime.UTC).date()
    search(page, order_begins_with="find-", from_day=str(today + datetime.timedelta(days=2)))
    shown(page)
    search(page, order_begins_with="find-", from_day=str(today - datetime.timedelta(days=2)))
    shown(page, "find-2", "find-1")
    page.reload()
    shown(page, "find-2", "find-1")
    expect(page.get_by_label("Order begins with")).to_have_value("find-")


@pytest.mark.parametrize(
    ("label", "text", "message"),
    [
        ("Payer", "0x12", "must be an address"),
        ("Amount from", "1,5", "must be an amount"),
        ("Before day", "31.5.2026", "must be a day"),
    ],
)
def test_invalid_filter_is_named_and_not_sent(shop: Shop, page: Page, label: str, text: str, message: str) -> None:
    shop.sign_in(page, Role.READER, "/orders")
    expect(page.get_by_role("heading", name="Search")).to_be_visible()
    page.get_by_label(label).fill(text)
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text(message)).to_be_visible()
    expect(page.get_by_label(label)).to_have_attribute("aria-invalid", "true")
    assert page.url == f"{shop.url}/orders"


def test_order_is_voided_with_a_reason(shop: Shop, page: Page) -> None:
    with shop.client() as client:
        client.stored("to-void", 1_000_000, BUYERS[3])
    shop.sign_in(page, Role.CASHIER, "/orders/to-void")
    page.get_by_role("button", name="Void").click()
    page.get_by_role("dialog").get_by_role("button", name="Back").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Void").click()
    page.get_by_label("Reason").fill("Sold out")
    confirm(page, "Void")
    expect(page.locator(".page-head")).to_contain_text("Voided")
    expect(page.get_by_text("Sold out")).to_be_visible()
    expect(page.locator("main .actions > button")).to_have_count(0)
    with shop.client() as client:
        assert client.status("to-void").startswith("Voided offchain")


@pytest.mark.parametrize("role", STAFF)
def test_captured_order_is_refundable_by_its_roles_only(shop: Shop, page: Page, captured_id: str, role: Role) -> None:
    shop.sign_in(page, role, f"/orders/{captured_id}")
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expected = ["Refund"] if role in REFUNDERS else []
    expect(page.locator("main .actions > button")).to_have_text(expected)


@pytest.mark.parametrize("role", STAFF)
def test_order_without_a_payer_can_only_be_voided_by_its_roles(shop: Shop, page: Page, role: Role) -> None:
    id = f"open-{role}"
    with shop.client() as client:
        client.made("/v1/orders", {"id": id, "amount": "5"})
    shop.sign_in(page, role, f"/orders/{id}")
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(page.locator("main .actions > button")).to_have_text(["Void"] if role in CASHIERS else [])


def test_order_is_found_captured_and_refunded_by_keyboard(shop: Shop, page: Page) -> None:
    with shop.client() as client:
        client.stored("by-keyboard", 2_000_000, BUYERS[4])
    page.goto(shop.url)
    expect(page.get_by_label("API key")).to_be_visible()
    focus_by_tab(page, "API key")
    page.keyboard.type(shop.keys[Role.ADMIN])
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    focus_by_tab(page, "Orders")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Search")).to_be_visible()
    focus_by_tab(page, "Order begins with")
    page.keyboard.type("by-keyb")
    page.keyboard.press("Enter")
    shown(page, "by-keyboard")
    expect(page.get_by_label("Order begins with")).to_be_focused()
    focus_by_tab(page, "by-keyboard")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    focus_by_tab(page, "Capture")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Capture")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    focus_by_tab(page, "Capture")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(".page-head")).to_contain_text("final")
    focus_by_tab(page, "Refund")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    focus_by_tab(page, "Amount to refund")
    page.keyboard.press("Control+A")
    page.keyboard.type("0.25")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text("0.25 USDC").first).to_be_visible()


def test_lost_answer_of_a_refund_is_repeated_with_its_key(shop: Shop, opened: BrowserPage, captured_id: str) -> None:
    page, keys = opened.page, list[str]()
    opened.faults.allow("ERR_FAILED")
    shop.sign_in(page, Role.REFUNDER, f"/orders/{captured_id}")

    def lose(route, request) -> None:  # type: ignore[no-untyped-def]
        keys.append(request.headers["idempotency-key"])
        if len(keys) > 1:
            route.continue_()
        else:
            route.fetch()  # the service refunds
            route.abort()

    page.route("**/refunds", lose)
    page.get_by_role("button", name="Refund").click()
    page.get_by_label("Amount to refund").fill("1")
    page.get_by_role("dialog").get_by_role("button", name="Refund").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("did not answer")
    # The dialog is closed and opened again: it is still the same refund.
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Refund").click()
    page.get_by_label("Amount to refund").fill("1")
    confirm(page, "Refund")
    assert len(keys) == 2
    assert keys[0] == keys[1]
    with shop.client() as client:
        assert client.get(f"/v1/orders/{captured_id}")["order"]["refunded"] == "1000000"
