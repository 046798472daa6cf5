"""Actions of the dashboard on a real chain, and which role sees them."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser import BrowserPage, serious_findings
from dashboard_pages import STAFF, Shop, confirm, result
from foreseal.payments.api.roles import Role
from live.blocks import wait_for
from payments.api.serving import BUYERS

HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>\u202egpj.exe'
ORDER_ACTIONS = {
    Role.READER: set(),
    Role.CASHIER: {"Capture", "Void"},
    Role.REFUNDER: set(),
    Role.ADMIN: {"Capture", "Void"},
}
PAGES = {"Overview", "Orders", "Payouts", "Unmatched", "Export"}
ADMIN_PAGES = PAGES | {"Webhooks", "API keys"}


@pytest.mark.parametrize("role", STAFF)
def test_role_sees_its_actions_only(shop: Shop, page: Page, role: Role) -> None:
    with shop.client() as client:
        id = client.stored(f"seen-by-{role}", 1_000_000, BUYERS[0])
    shop.sign_in(page, role, f"/orders/{id}")
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    buttons = set(page.locator("main .actions > button").all_inner_texts())
    assert buttons == ORDER_ACTIONS[role]
    links = set(page.get_by_role("navigation").get_by_role("link").all_inner_texts())
    assert links == (ADMIN_PAGES if role is Role.ADMIN else PAGES)
    page.get_by_role("link", name="Payouts").click()
    expect(page.get_by_role("heading", name="Payouts", level=2)).to_be_visible()
    assert page.get_by_label("CSV file").count() == (1 if role is Role.ADMIN else 0)
    for path in ("/webhooks", "/keys"):
        if role is not Role.ADMIN:
            page.goto(shop.url + path)
            expect(page.get_by_role("heading", name="Not permitted")).to_be_visible()


def test_order_is_captured_and_refunded_in_parts(shop: Shop, page: Page) -> None:
    with shop.client() as client:
        client.stored("ui", 2_500_000, BUYERS[1])
    shop.sign_in(page, path="/orders/ui")
    page.get_by_role("button", name="Capture").click()
    assert serious_findings(page) == []
    confirm(page, "Capture")
    refund = page.get_by_role("button", name="Refund")
    expect(page.locator(".page-head")).to_contain_text("final")
    refund.click()
    page.get_by_label("Amount to refund").fill("9")
    expect(page.get_by_role("dialog").get_by_role("button", name="Refund")).to_be_disabled()
    page.get_by_label("Amount to refund").fill("0.5")
    confirm(page, "Refund")
    expect(page.locator(".page-head")).to_contain_text("Partly refunded")
    refund.click()
    expect(page.get_by_label("Amount to refund")).to_have_value("2.00")
    confirm(page, "Refund")
    expect(refund).to_have_count(0)
    with shop.client() as client:
        assert client.get("/v1/orders/ui")["order"]["refunded"] == "2500000"


def test_hostile_texts_are_shown_as_text(shop: Shop, page: Page) -> None:
    with shop.client() as client:
        client.stored("hostile", 10, BUYERS[2], reference=HOSTILE, metadata={HOSTILE[:40]: HOSTILE})
        client.made("/v1/orders/hostile/void", {"reason": HOSTILE})
        client.made("/v1/webhooks", {"url": "https://example.org/?<img/src=x/onerror=alert(1)>"})
    shop.sign_in(page, path="/orders/hostile")
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    for path in ("/orders/hostile", "/orders?id=hostile", "/webhooks"):
        page.goto(shop.url + path)
        expect(page.get_by_text("<img").first).to_be_visible()
        assert page.locator("main img, main script").count() == 0
        assert page.title().endswith("Foreseal payments")
        assert "\u202e" not in page.locator("main").inner_text()


def test_key_is_created_once_and_revoked(shop: Shop, page: Page, another: BrowserPage) -> None:
    shop.sign_in(page, path="/keys")
    page.get_by_role("button", name="Create a key").click()
    page.get_by_label("Name").fill("till")
    page.get_by_label("Role").select_option("cashier")
    confirm(page, "Create")
    key = page.get_by_label("new API key", exact=True).inner_text()
    page.get_by_role("button", name="Done").click()
    assert key not in page.content()
    row = page.get_by_role("row").filter(has_text="till")
    row.get_by_role("button", name="Revoke").click()
    confirm(page, "Revoke")
    expect(row).to_contain_text("revoked")
    another.page.goto(shop.url)
    another.page.get_by_label("API key").fill(key)
    another.page.keyboard.press("Enter")
    expect(another.page.get_by_role("alert")).to_contain_text("unknown or revoked")


def test_payout_from_a_file_shows_errors_by_line_and_a_preview(shop: Shop, page: Page, tmp_path: Path) -> None:
    with shop.client() as client:
        client.made(f"/v1/orders/{client.stored('funds', 3_000_000, BUYERS[5])}/capture")
        wait_for(lambda: client.status("funds").startswith("Used, captured"), 60.0, "a capture")
    file = tmp_path / "payout.csv"
    with shop.client() as client:
        before = client.get("/v1/payouts")["items"]
    shop.sign_in(page, path="/payouts")
    good = [f"{BUYERS[3].address},1.25", f"{BUYERS[4].address},0.75"]
    file.write_text("recipient,amount\n" + f"{good[0]}\n0x12,1\n=cmd(),1\n{BUYERS[4].address},-1\n")
    page.get_by_label("CSV file").set_input_files(file)
    for line in (3, 4, 5):
        expect(page.get_by_role("alert")).to_contain_text(f"Line {line}: ")
    expect(page.get_by_role("button", name="Pay")).to_have_count(0)
    file = tmp_path / "corrected.csv"
    file.write_text("recipient,amount\n" + "\n".join(good))
    page.get_by_label("CSV file").set_input_files(file)
    expect(page.get_by_text("2 recipients, 2.00 USDC in total")).to_be_visible()
    page.get_by_role("button", name="Pay 2 recipients").click()
    dialog = page.get_by_role("dialog", name="Send this payout?")
    expect(dialog).to_contain_text("2.00 USDC from default to 2 recipients")
    expect(dialog.locator("tbody tr")).to_contain_text(["1.25 USDC", "0.75 USDC"])
    assert serious_findings(page) == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Pay 2 recipients")).to_be_focused()
    with shop.client() as client:
        assert client.get("/v1/payouts")["items"] == before
    page.keyboard.press("Enter")
    confirm(page, "Pay")
    expect(page.get_by_role("heading", name="Recipients")).to_be_visible()
    expect(result(page)).to_have_text("Payout of 2.00 USDC to 2 recipients submitted.")
    expect(page.locator("main .facts")).to_contain_text("2.00 USDC")
