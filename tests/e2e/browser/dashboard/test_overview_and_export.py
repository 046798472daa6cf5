"""Charts, health and the export of the dashboard."""

import csv
import io
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser import BrowserPage
from dashboard_pages import Shop
from foreseal.payments.amounts import format_tokens
from foreseal.payments.api.roles import Role
from payments.api.serving import BUYERS

FORMULAS = ("=1+2", "+1", "-1", "@SUM(A1)")


def test_overview_shows_charts_and_health(shop: Shop, page: Page) -> None:
    shop.captured("charted", 7_000_000, BUYERS[0])
    with shop.client() as client:
        client.made("/v1/orders/charted/refunds", {"amount": "2500000"})
        days = client.get("/v1/statistics")["items"]
    captured, refunded = (sum(int(day[name]["amount"]) for day in days) for name in ("volume", "refunded"))
    shop.sign_in(page, Role.READER)
    for name, amount in (("Captured", captured), ("Refunded", refunded), ("Net of refunds", captured - refunded)):
        fact = page.locator(".facts > div").filter(has=page.get_by_text(name, exact=True)).locator("dd")
        expect(fact).to_have_text(f"{format_tokens(amount)} USDC")
    for title in ("Captured volume, USDC", "Orders", "Captured of all orders that ended"):
        chart = page.get_by_role("img", name=f"{title}, 30 values")
        expect(chart.locator("canvas")).to_be_visible()
    drawn = """(canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean)"""
    assert page.locator("canvas").first.evaluate(drawn)
    page.get_by_label("Time").select_option("7 days")
    expect(page.get_by_role("img", name="Orders, 7 values")).to_be_visible()
    page.get_by_text("Table", exact=True).click()
    expect(page.get_by_role("region", name="Orders by day")).to_contain_text("USDC")
    health = page.get_by_role("region", name="Gas of the payees")
    expect(health).to_contain_text("ok")
    expect(page.locator(".panel").filter(has=page.get_by_role("heading", name="Health"))).to_contain_text("ok")


@pytest.mark.parametrize("id", FORMULAS)
def test_export_neutralises_formulas(shop: Shop, page: Page, tmp_path: Path, id: str) -> None:
    shop.captured(id, 10, BUYERS[1])
    shop.sign_in(page, Role.READER, "/export")
    rows = {}
    for name in ("CSV", "JSON Lines"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        rows[file.suffix] = file.read_text()
    cells = [cell for row in csv.reader(io.StringIO(rows[".csv"])) for cell in row]
    assert f"'{id}" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert id in [json.loads(line)["order_id"] for line in rows[".jsonl"].splitlines()]


def test_export_of_a_period_has_its_days_only(shop: Shop, opened: BrowserPage) -> None:
    page = opened.page
    shop.captured("in-period", 10, BUYERS[2])
    shop.sign_in(page, Role.READER, "/export")
    page.get_by_label("Before day").fill("2020-01-01")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert len(download.value.path().read_text().splitlines()) == 1
    page.get_by_label("Before day").fill("1.1.2020")
    expect(page.get_by_text("must be a day")).to_be_visible()
    expect(page.get_by_role("link", name="CSV")).to_have_count(0)
