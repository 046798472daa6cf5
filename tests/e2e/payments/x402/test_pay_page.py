"""Demands for browsers: the pay page by `Accept`, and unchanged bytes for all other clients."""

from dataclasses import replace

import httpx
import pytest

from foreseal.payments.x402.seller.middleware import PaidRoutes
from foreseal.payments.x402.seller.pay_page import PayPage
from payments.x402.selling import Selling, requirements_of
from payments.x402.world import DOMAIN, World

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
STATIC = "/x402/static"


@pytest.fixture
def selling(world: World, url: str) -> Selling:
    return Selling(world, url)


@pytest.fixture
def without_page(selling: Selling) -> PaidRoutes:
    """Provide the same routes of the same seller without a page."""
    routes = PaidRoutes(selling.app.app, selling.seller)
    routes.pages = None
    return routes


def test_browser_gets_the_page_with_a_strict_policy(selling: Selling) -> None:
    response = selling.get("/report", headers=BROWSER)
    assert (response.status_code, response.headers["content-type"]) == (402, "text/html; charset=utf-8")
    assert (response.headers["cache-control"], response.headers["vary"]) == ("no-store", "accept")
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert (response.headers["x-frame-options"], response.headers["referrer-policy"]) == ("DENY", "no-referrer")
    assert "unsafe" not in policy
    assert f'src="{STATIC}/x402/app.js"' in response.text
    assert requirements_of(response) == selling.demand("/report")
    head = selling.get("/report", method="HEAD", headers=BROWSER)
    assert (head.status_code, head.content, head.headers) == (402, b"", response.headers)
    assert not selling.runs


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html;q=0.5, application/json", ""])
@pytest.mark.parametrize("path", ["/report", "/permit2", "/upto/1"])
def test_other_clients_get_the_same_bytes_as_without_the_page(
    selling: Selling, without_page: PaidRoutes, path: str, accept: str
) -> None:
    response = selling.get(path, headers={"accept": accept})
    selling.app = without_page
    expected = selling.get(path, headers={"accept": accept})
    assert response.status_code == expected.status_code == 402
    assert (response.content, response.headers.raw) == (expected.content, expected.headers.raw)
    assert "vary" not in response.headers


def test_requests_that_no_page_can_repeat_get_json(selling: Selling, without_page: PaidRoutes) -> None:
    posted = selling.get("/make", method="POST", headers=BROWSER)
    malformed = selling.get("/report", headers={**BROWSER, "payment-signature": "x"})
    assert (posted.status_code, malformed.status_code) == (402, 400)
    assert {each.headers["content-type"] for each in (posted, malformed)} == {"application/json"}
    assert selling.get("/free", headers=BROWSER).json()["path"] == "/free"
    selling.app = without_page
    assert selling.get("/report", headers=BROWSER).headers["content-type"] == "application/json"


def test_files_of_the_page_are_served(selling: Selling) -> None:
    page = selling.get("/report", headers=BROWSER).text
    names = [each.split('"')[0] for each in page.split('="')[1:] if each.startswith("/")]
    assert len(names) > 5
    for name in names:
        assert selling.get(name).status_code == 200, name
    missing = selling.get(f"{STATIC}/none.js")
    assert (missing.status_code, selling.get(f"{STATIC}/%2e%2e/%2e%2e/report").status_code) == (404, 404)
    assert selling.get(f"{STATIC}/x402/app.js", method="POST").status_code == 404
    details = selling.get("/x402/details.json").json()
    assert (details["asset"], details["chain_id"]) == (DOMAIN.contract, DOMAIN.chain_id)
    assert (details["symbol"], details["decimals"], details["seller_name"]) == ("USDC", 6, None)


def test_page_below_a_mount_refers_to_files_below_it(selling: Selling) -> None:
    def get(path: str, **headers: str) -> httpx.Response:
        transport = httpx.ASGITransport(selling.app, root_path='/shop"><b>')
        selling.client = lambda: httpx.AsyncClient(transport=transport, base_url="http://shop.test")  # type: ignore[method-assign]
        return selling.get(path, headers=headers)

    response = get("/report", **BROWSER)
    assert f'src="/shop%22%3E%3Cb%3E{STATIC}/x402/app.js"' in response.text
    assert "<b>" not in response.text


def test_settings_choose_path_and_texts(selling: Selling) -> None:
    shop = selling.seller.offers.shop
    selling.seller.offers.shop = replace(shop, page=PayPage(base_path="/pay", seller_name="Reports <b>"))
    selling.app = PaidRoutes(selling.app.app, selling.seller)
    response = selling.get("/report", headers=BROWSER)
    assert 'src="/pay/x402/static/x402/app.js"' in response.text
    assert selling.get("/pay/x402/static/x402/app.js").status_code == 200
    assert selling.get("/pay/x402/details.json").json()["seller_name"] == "Reports <b>"
    assert selling.get("/x402/details.json").status_code == 404


@pytest.mark.parametrize("path", ["pay", "/pay/", "/", '/a"b', "/a b", "/ä"])
def test_invalid_path_of_the_page_is_rejected(path: str) -> None:
    with pytest.raises(ValueError, match="base_path: "):
        PayPage(base_path=path)
