"""Times of the explorer's pages over a long chain, against the same pages over a chain of ten blocks."""

import argparse
import sys
from pathlib import Path
from typing import Any

from benches.explorer.content import ExplorerContent, ShownPage, send_content, send_transfers
from benches.explorer.pages import measure
from benches.result_file import save

from browser import Chromium, running_chromium
from browser.explorer import ExplorerChain
from foreseal.bench.provenance import read_provenance
from live import LiveNode, live_node, wait_for

PACKAGES = ("playwright",)
SHORT_BLOCKS, BLOCKS, FEW_BLOCKS = 10_000, 1_000_000, 10
RUNS = 5
MAX_DATA_MS = 100
_MINED_AT_ONCE = 1_000
_SHOWN_EVERY = 100_000
_STORE_SECONDS = 3600.0


def grow(node: LiveNode, blocks: int) -> ExplorerContent:
    """Make a chain with transfers in its first and its last blocks."""
    content = send_content(node)
    for first in range(0, blocks, _MINED_AT_ONCE):
        node.rpc("anvil_mine", hex(min(_MINED_AT_ONCE, blocks - first)))
        if first and first % _SHOWN_EVERY == 0:
            print(f"{first:,} of {blocks:,} blocks", flush=True)
    wait_for(lambda: not node.rpc("foreseal_status")["store"]["backlog"], _STORE_SECONDS, "an empty backlog")
    send_transfers(ExplorerChain(node), content.token, content.holder)
    return content


def pages_of(content: ExplorerContent, head: int) -> list[ShownPage]:
    """Return the pages of old and of new blocks."""
    old = [shown for shown in content.pages() if shown.name != "pool"]
    oldest = ShownPage("oldest logs", f"/logs?address={content.token}&order=oldest", ".log")
    nothing = ShownPage("no logs", "/logs?address=0x00000000000000000000000000000000000000ee", ".empty")
    return [*old, oldest, nothing, ShownPage("newest block", f"/block/{head}", ".panel .facts")]


def measure_chain(chromium: Chromium, blocks: int, runs: int) -> dict[str, Any]:
    """Return the figures of each page over a chain of this length."""
    with live_node("--step", "200ms") as node:
        content = grow(node, blocks)
        head = int(node.rpc("eth_blockNumber"), 16)
        pages = [measure(chromium, node.url, shown, runs) for shown in pages_of(content, head)]
    for page in pages:
        print(f"{head:,} blocks, {page['page']}: {page['data_ms']} ms of data, {page['rows_ms']} ms in all", flush=True)
    return {"blocks": head, "pages": pages}


def main() -> int:
    """Measure both chains, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="length of the long chain")
    parser.add_argument(
        "--short", action="store_true", help=f"a chain of {SHORT_BLOCKS:,} blocks and one view of each page"
    )
    parser.add_argument("--save", type=Path, help="file for the figures")
    given = parser.parse_args()
    blocks, runs = (SHORT_BLOCKS, 1) if given.short else (given.blocks, RUNS)
    with running_chromium() as chromium:
        chains = [measure_chain(chromium, count, runs) for count in (FEW_BLOCKS, blocks)]
    if given.save:
        command = f"python -m benches.explorer.archive --blocks {blocks}"
        report = read_provenance(command, PACKAGES) | {"bound_data_ms": MAX_DATA_MS, "chains": chains}
        save(report, given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
