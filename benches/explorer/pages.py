"""Size, first paint and pictures of each page of the explorer in chromium, on loopback."""

import sys
from pathlib import Path
from typing import Any

from benches.explorer.content import ExplorerContent, ShownPage, send_content
from benches.explorer.page_report import conclude, measure_page, parse_options
from benches.explorer.page_timing import PageTiming, view
from playwright.sync_api import Page

from browser import Chromium, running_chromium
from browser.explorer import EXPLORER_OPTIONS, ExplorerChain
from live import LiveNode, live_node

PICTURES = Path(__file__).parents[2] / "docs" / "assets" / "explorer"
_WINDOW = {"width": 960, "height": 640}
_SETTLED_MS = 700
_FRAMES = 3
_FRAME_TRANSACTIONS = 4


def measure(chromium: Chromium, url: str, shown: ShownPage, runs: int) -> dict[str, Any]:
    """Return the median figures of several views, each with an empty cache."""

    def view_once() -> PageTiming:
        with chromium.context() as context:
            return view(context, url, shown)[1]

    return measure_page(shown.name, runs, view_once)


def take_pictures(chromium: Chromium, url: str, content: ExplorerContent) -> None:
    """Save a picture of each page in the light and the dark scheme, and on a phone."""
    for shown in content.pages():
        for name, scheme, phone in (("light", "light", False), ("dark", "dark", False), ("phone", "light", True)):
            with chromium.context(scheme=scheme, phone=phone) as context:  # type: ignore[arg-type]
                page, _ = view(context, url, shown)
                if not phone:
                    page.set_viewport_size(_WINDOW)  # type: ignore[arg-type]
                page.wait_for_timeout(_SETTLED_MS)
                _save_picture(page, f"{shown.name}-{name}")


def take_frames(chromium: Chromium, node: LiveNode) -> None:
    """Save pictures of the block under construction at three of its steps."""
    chain = ExplorerChain(node)
    home = ShownPage("home", "", ".strip .step")
    with chromium.context() as context:
        page, _ = view(context, node.url, home)
        page.set_viewport_size(_WINDOW)  # type: ignore[arg-type]
        chain.rpc("evm_mine")
        for frame in range(_FRAMES):
            for _ in range(_FRAME_TRANSACTIONS):
                chain.send(value=frame + 1)
            digest = chain.included(value=1)
            page.locator(f'.pending a[href$="{digest}"]').wait_for()
            _save_picture(page, f"frame-{frame + 1}")


def _save_picture(page: Page, name: str) -> None:
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


def main() -> int:
    """Measure the pages, and exit with 1 if one exceeds its bound."""
    given = parse_options(__doc__, "docs/assets/explorer")
    with running_chromium() as chromium, live_node(*EXPLORER_OPTIONS) as node:
        content = send_content(node)
        pages = [measure(chromium, node.url, shown, given.runs) for shown in content.pages()]
        if given.pictures:
            PICTURES.mkdir(parents=True, exist_ok=True)
            take_pictures(chromium, node.url, content)
    if given.pictures:
        with running_chromium() as chromium, live_node("--step", "200ms", "--block-time", "10s") as node:
            take_frames(chromium, node)
    return conclude(pages, f"python -m benches.explorer.pages --runs {given.runs}", given.save)


if __name__ == "__main__":
    sys.exit(main())
