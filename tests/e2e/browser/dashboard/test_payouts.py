"""Payouts and splits from CSV files: the preview by the service, and lost answers."""

import uuid
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, Route, expect

from browser import BrowserPage
from dashboard_pages import Shop, confirm
from payments.api.serving import BUYERS


@pytest.fixture(scope="module", autouse=True)
def funds(shop: Shop) -> None:
    """Fund the payee."""
    shop.captured(f"funds-of-payouts-{uuid.uuid4()}", 20_000_000, BUYERS[5])


def choose(page: Page, folder: Path, *lines: str) -> None:
    """Choose a new file with these lines."""
    file = folder / f"{len(list(folder.iterdir()))}.csv"
    file.write_text("\n".join(lines))
    page.get_by_label("CSV file").set_input_files(file)


def payouts(shop: Shop) -> list[str]:
    """Return the amounts of all payouts, newest first."""
    with shop.client() as client:
        return [each["amount"] for each in client.get("/v1/payouts")["items"]]


def test_split_shows_exact_amounts_before_it_is_paid(shop: Shop, page: Page, tmp_path: Path) -> None:
    shop.sign_in(page, path="/payouts")
    page.get_by_label("Kind").select_option("Split: shares of one sum")
    choose(page, tmp_path, f"{BUYERS[0].address};3333", f"{BUYERS[1].address};3333")
    expect(page.get_by_role("alert")).to_contain_text("the shares sum to 6666 basis points, not 10000")
    choose(
        page, tmp_path, *(f"{each.address};{share}" for each, share in zip(BUYERS, (3333, 3333, 3334), strict=False))
    )
    expect(page.get_by_role("button", name="Pay")).to_have_count(0)
    page.get_by_label("Total").fill("1.000001")
    preview = page.get_by_role("region", name="Preview").locator("tbody td:last-child")
    expect(preview).to_have_text(["0.333301 USDC", "0.3333 USDC", "0.3334 USDC"])
    before = payouts(shop)
    page.get_by_role("button", name="Pay 3 recipients").click()
    confirm(page, "Pay")
    expect(page.get_by_role("heading", name="Recipients")).to_be_visible()
    expect(page.locator("main .facts")).to_contain_text("1.000001 USDC")
    assert payouts(shop) == ["1000001", *before]


def test_preview_shows_what_the_service_would_reject(shop: Shop, opened: BrowserPage, tmp_path: Path) -> None:
    page = opened.page
    opened.faults.allow("409")
    shop.sign_in(page, path="/payouts")
    before = payouts(shop)
    choose(page, tmp_path, f"{BUYERS[0].address},999999999")
    expect(page.get_by_role("alert")).to_contain_text("the batch needs 999999999000000 units, but only")
    expect(page.get_by_role("button", name="Pay")).to_have_count(0)
    shop.captured("more-funds", 10, BUYERS[4])
    page.get_by_role("button", name="Check again").click()
    expect(page.get_by_role("alert")).to_contain_text("the batch needs")
    choose(page, tmp_path, f"{BUYERS[0].address},0.5")
    expect(page.get_by_role("button", name="Pay 1 recipients")).to_be_enabled()
    expect(page.get_by_role("alert")).to_have_count(0)
    assert payouts(shop) == before


def test_lost_answer_pays_once(shop: Shop, opened: BrowserPage, tmp_path: Path) -> None:
    page, keys = opened.page, list[str]()
    opened.faults.allow("ERR_FAILED")
    shop.sign_in(page, path="/payouts")
    before = payouts(shop)

    def lose(route: Route, request: Request) -> None:
        keys.append(request.headers["idempotency-key"])
        if len(keys) == 1:
            route.fetch()  # the service pays
            route.abort()
        else:
            route.continue_()

    page.route(
        "**/v1/payouts", lambda route, request: lose(route, request) if request.method == "POST" else route.continue_()
    )
    choose(page, tmp_path, f"{BUYERS[2].address},0.75", f"{BUYERS[2].address},0.25")
    page.get_by_role("button", name="Pay 2 recipients").click()
    page.get_by_role("dialog").get_by_role("button", name="Pay").click()
    expect(page.get_by_role("alert")).to_contain_text("did not answer")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Pay 2 recipients").click()
    confirm(page, "Pay")
    expect(page.get_by_role("heading", name="Recipients")).to_be_visible()
    assert len(keys) == 2
    assert keys[0] == keys[1]
    assert payouts(shop) == ["1000000", *before]
