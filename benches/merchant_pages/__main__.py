"""Size and first paint of the dashboard and the checkout in chromium on loopback, and pictures of the dashboard."""

import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.explorer.content import ShownPage
from benches.explorer.page_report import conclude, measure_page, parse_options
from benches.explorer.page_timing import PageTiming, view
from PIL import Image
from playwright.sync_api import BrowserContext

from browser import Chromium, running_chromium
from foreseal.ports import next_free_port
from live import live_node
from live.blocks import wait_for
from payments.api.serving import BUYERS, Shopper, api_key, configure, serving

PICTURES = Path(__file__).parents[2] / "docs" / "assets" / "dashboard"
SIGN_IN = ShownPage("sign-in", "/dashboard", "#api-key")
SIGNED_IN = (
    ShownPage("orders", "/dashboard/orders", "main tbody tr"),
    ShownPage("order", "/dashboard/orders/1007", "main .timeline li"),
    ShownPage("health", "/dashboard", "main .panel:nth-of-type(2) tbody tr"),
)
_WINDOW = {"width": 1120, "height": 720}
_COLORS = 64
_SETTLED_MS = 700
_SECONDS = 60.0
_CHAIN = ("--payments", "--block-time", "1s", "--safe-depth", "2", "--finalized-depth", "4")


@dataclass(frozen=True)
class MerchantPages:
    """A served merchant with orders."""

    url: str
    key: str
    checkout: ShownPage

    def sign_in(self, context: BrowserContext) -> None:
        """Give the context the cookie of a session."""
        origin = {"origin": self.url}
        response = context.request.post(f"{self.url}/dashboard/api/session", data={"key": self.key}, headers=origin)
        assert response.ok, response.text()


@contextmanager
def served_merchant(folder: Path) -> Iterator[MerchantPages]:
    """Serve a merchant on a development chain."""
    port = next_free_port()
    url = f"http://127.0.0.1:{port}"
    sections = (
        f'[policy]\nconfirmed = "sealed"\n[checkout]\npublic_url = "{url}"\nmerchant_name = "Book shop"\n'
        f'network_name = "Dev"\npretend_wallet = true\nrpc_url = "{url}"\n'
    )
    with live_node(*_CHAIN) as chain:
        config = configure(folder, chain.url, f"sqlite:///{folder}/pay.db", more=sections)
        config.write_text(config.read_text().replace('"127.0.0.1:0"', f'"127.0.0.1:{port}"'))
        with serving(config) as service, Shopper(service.url, api_key(config)) as shopper:
            link = send_orders(shopper)
            checkout = ShownPage("checkout", link.removeprefix(url), "main button")
            yield MerchantPages(url, api_key(config), checkout)


def send_orders(shopper: Shopper) -> str:
    """Create orders in several states, and return the payment link of one."""
    for index, buyer in enumerate(BUYERS):
        id = f"{1001 + index}"
        reference = f"Invoice {2026_0001 + index}"
        shopper.stored(id, 12_500_000 + 3_750_000 * index, buyer, reference=reference, metadata={"title": "Two books"})
        if index > 1:
            shopper.made(f"/v1/orders/{id}/capture")
    shopper.made("/v1/orders/1001/void", {"reason": "Sold out"})
    wait_for(lambda: shopper.status("1007") == "Used, captured / final", _SECONDS, "final capture")
    shopper.made("/v1/orders/1007/refunds", {"amount": "5000000"})
    link: str = shopper.made("/v1/orders", {"id": "1008", "amount": "1500000"})["checkout_url"]
    return link


@contextmanager
def opened(chromium: Chromium, merchant: MerchantPages, shown: ShownPage, **look: Any) -> Iterator[BrowserContext]:
    """Yield a context for a page, signed in if the page needs it."""
    with chromium.context(**look) as context:
        if shown in SIGNED_IN:
            merchant.sign_in(context)
        yield context


def measure(chromium: Chromium, merchant: MerchantPages, shown: ShownPage, runs: int) -> dict[str, Any]:
    """Return the median figures of several views, each with an empty cache."""

    def view_once() -> PageTiming:
        with opened(chromium, merchant, shown) as context:
            return view(context, merchant.url, shown, base="")[1]

    return measure_page(shown.name, runs, view_once)


def take_pictures(chromium: Chromium, merchant: MerchantPages) -> None:
    """Save a picture of each page of the dashboard in the light and the dark scheme, and on a phone."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for shown in (SIGN_IN, *SIGNED_IN):
        for name, scheme, phone in (("light", "light", False), ("dark", "dark", False), ("phone", "light", True)):
            with opened(chromium, merchant, shown, scheme=scheme, phone=phone) as context:
                page, _ = view(context, merchant.url, shown, base="")
                if not phone:
                    page.set_viewport_size(_WINDOW)  # type: ignore[arg-type]
                if shown.name == "health":
                    page.get_by_role("heading", name="Health").evaluate("(node) => node.scrollIntoView()")
                page.wait_for_timeout(_SETTLED_MS)
                picture = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
                colors = picture.quantize(_COLORS, dither=Image.Dither.NONE)
                colors.save(PICTURES / f"{shown.name}-{name}.png", optimize=True)


def main() -> int:
    """Measure the pages, and exit with 1 if one exceeds its bound."""
    given = parse_options(__doc__, "docs/assets/dashboard")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_chromium() as chromium,
        served_merchant(Path(folder)) as merchant,
    ):
        shown = (SIGN_IN, *SIGNED_IN, merchant.checkout)
        pages = [measure(chromium, merchant, each, given.runs) for each in shown]
        if given.pictures:
            take_pictures(chromium, merchant)
    return conclude(pages, f"python -m benches.merchant_pages --runs {given.runs}", given.save)


if __name__ == "__main__":
    sys.exit(main())
