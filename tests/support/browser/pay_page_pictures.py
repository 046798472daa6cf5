"""Pictures of the pay page of x402 for the documentation: `python -m browser.pay_page_pictures FOLDER`."""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect

from browser.chromium import Chromium, Scheme, chromium_or_skip, open_page
from browser.shop_pictures import save
from browser.wallet import BrowserWallet, WalletOptions
from foreseal.payments.x402.seller.pay_page import PayPage
from payments.x402.pairings.serving import serving
from payments.x402.selling import Selling
from payments.x402.world import BUYERS, CHAIN_ID, world

_WINDOW = {"width": 960, "height": 620}
_WALLET = WalletOptions(chain_id=CHAIN_ID, chains=(CHAIN_ID,), name="Browser wallet")
_TEXTS = PayPage(seller_name="Weather reports", network_name="Development chain")


def open_pay_page(page: Page, url: str) -> None:
    """Open a paid resource with a wallet."""
    BrowserWallet(page, BUYERS[:1], _WALLET)
    page.goto(f"{url}/report")
    expect(page.get_by_role("button", name="Pay with Browser wallet")).to_be_enabled()


def take_picture(chromium: Chromium, url: str, path: Path, *, scheme: Scheme, phone: bool) -> None:
    """Save a picture of the page."""
    with chromium.context(scheme=scheme, phone=phone) as context:
        page = open_page(context).page
        if not phone:
            page.set_viewport_size(_WINDOW)  # type: ignore[arg-type]
        open_pay_page(page, url)
        save(page, path)


def main() -> None:
    """Write the pictures in the light and the dark scheme, and of a phone, to the folder of the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as files, world(Path(files)) as node, chromium_or_skip() as chromium:
        selling = Selling(node, f"sqlite:///{files}/shop.db", page=_TEXTS)
        with serving(selling.app) as url:
            for name, scheme, phone in (("light", "light", False), ("dark", "dark", False), ("phone", "light", True)):
                take_picture(chromium, url, folder / f"pay-page-{name}.png", scheme=scheme, phone=phone)  # type: ignore[arg-type]
        node.close()


if __name__ == "__main__":
    main()
