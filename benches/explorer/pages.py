"""Size, first paint and pictures of each page of the explorer in chromium, on loopback."""

import argparse
import sys
from pathlib import Path
from statistics import median
from typing import Any

from benches.explorer.content import ExplorerContent, ShownPage, send_content
from benches.explorer.page_timing import PageTiming, view
from playwright.sync_api import Page

from browser import Chromium, running_chromium
from browser.explorer import EXPLORER_OPTIONS, ExplorerChain
from foreseal.bench.provenance import read_provenance, save
from live import LiveNode, live_node

PICTURES = Path(__file__).parents[2] / "docs" / "assets" / "explorer"
PACKAGES = ("playwright",)
MAX_KILOBYTES, MAX_PAINT_MS = 150, 500
RUNS = 5
_WINDOW = {"width": 960, "height": 640}
_SETTLED_MS = 700
_FRAMES = 3
_FRAME_TRANSACTIONS = 4


def measure(chromium: Chromium, url: str, shown: ShownPage, runs: int) -> dict[str, Any]:
    """Return the median figures of several views, each with an empty cache."""
    timings: list[PageTiming] = []
    for _ in range(runs):
        with chromium.context() as context:
            timings.append(view(context, url, shown)[1])
    reports = [timing.report() for timing in timings]
    return {"page": shown.name} | {name: median(report[name] for report in reports) for name in reports[0]}


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="views of each page")
    parser.add_argument("--pictures", action="store_true", help="save pictures in docs/assets/explorer")
    parser.add_argument("--save", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    with running_chromium() as chromium, live_node(*EXPLORER_OPTIONS) as node:
        content = send_content(node)
        pages = [measure(chromium, node.url, shown, arguments.runs) for shown in content.pages()]
        for page in pages:
            print(", ".join(f"{name} {value}" for name, value in page.items()), flush=True)
        if arguments.pictures:
            PICTURES.mkdir(parents=True, exist_ok=True)
            take_pictures(chromium, node.url, content)
    if arguments.pictures:
        with running_chromium() as chromium, live_node("--step", "200ms", "--block-time", "10s") as node:
            take_frames(chromium, node)
    bounds = {"kilobytes": MAX_KILOBYTES, "first_paint_ms": MAX_PAINT_MS}
    if arguments.save:
        command = f"python -m benches.explorer.pages --runs {arguments.runs}"
        save(read_provenance(command, PACKAGES) | {"bounds": bounds, "pages": pages}, arguments.save)
    exceeded = [page["page"] for page in pages if any(page[name] > bound for name, bound in bounds.items())]
    if exceeded:
        print(f"beyond a bound: {', '.join(exceeded)}", file=sys.stderr)
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
