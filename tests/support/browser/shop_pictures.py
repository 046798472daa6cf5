"""Pictures of the demo shop for the documentation: `python -m browser.shop_pictures FOLDER`."""

import re
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect

from browser.chromium import chromium_or_skip, open_page
from browser.shop_purchase import pay_with_pretend_wallet
from shop_demo import ShopDemo, shop_demo

MAX_SIZE = 150_000
"""Maximum size of a picture in bytes."""
_COLORS = 64
_VIEWPORT = {"width": 960, "height": 720}


def save(page: Page, path: Path) -> None:
    """Save the page's viewport as a picture with a palette."""
    buffer = BytesIO()
    with Image.open(BytesIO(page.screenshot())) as picture:
        small = picture.convert("RGB").quantize(_COLORS, dither=Image.Dither.NONE)
        small.save(buffer, "PNG", optimize=True)
    assert buffer.tell() < MAX_SIZE, f"{path.name} has {buffer.tell()} bytes"
    path.write_bytes(buffer.getvalue())
    print(f"{path}: {buffer.tell()} bytes")


def take_pictures(demo: ShopDemo, page: Page, folder: Path) -> None:
    """Buy a product and save a picture of shop, checkout and paid order."""
    page.set_viewport_size(_VIEWPORT)  # type: ignore[arg-type]
    page.goto(demo.url)
    save(page, folder / "shop.png")
    page.get_by_role("button", name="Buy Pending mug").click()
    pay_with_pretend_wallet(page, lambda: save(page, folder / "checkout.png"))
    page.wait_for_url(re.compile(re.escape(demo.url) + "/orders/"))
    expect(page.locator('[data-stage="shipped"]')).to_be_visible()
    save(page, folder / "paid.png")


def main() -> None:
    """Write the pictures to the folder of the command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with shop_demo() as demo, chromium_or_skip() as browser, browser.context() as context:
        take_pictures(demo, open_page(context).page, folder)


if __name__ == "__main__":
    main()
