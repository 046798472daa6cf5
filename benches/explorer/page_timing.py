"""Times and sizes of one view of a page, from the browser's own records."""

from dataclasses import asdict, dataclass
from typing import Any

from benches.explorer.content import ShownPage
from playwright.sync_api import BrowserContext, Page, Request

# Records when the first row appears: polling from outside would add its own delay.
_WATCH = """
(selector) => {
  const check = () => {
    if (window.firstRowsAt === undefined && document.querySelector(selector)) window.firstRowsAt = performance.now();
  };
  new MutationObserver(check).observe(document, {childList: true, subtree: true});
}
"""
_TIMES = """
() => {
  const paint = performance.getEntriesByName('first-contentful-paint')[0];
  const calls = performance.getEntriesByType('resource').filter((one) => one.initiatorType === 'fetch');
  const rows = window.firstRowsAt;
  const before = calls.filter((one) => one.startTime < rows);
  const spans = before.map((one) => [one.startTime, Math.min(rows, one.responseEnd)]);
  let [data, end] = [0, 0];
  for (const [start, stop] of spans.sort((one, other) => one[0] - other[0])) {
    data += Math.max(0, stop - Math.max(start, end));
    end = Math.max(end, stop);
  }
  return {paint: paint ? paint.startTime : null, rows, data};
}
"""


@dataclass(frozen=True)
class PageTiming:
    """One view with an empty cache. Times in milliseconds since the start of the navigation."""

    files: int
    """Number of files."""
    kilobytes: float
    """Compressed size of the files, without the answers to calls."""
    first_paint_ms: float
    rows_ms: float
    """Time until the first rows of data are in the page."""
    data_ms: float
    """Time before the first rows in which the page waited for answers to calls."""

    def report(self) -> dict[str, Any]:
        """Return the figures, rounded."""
        return {name: round(value, 1) for name, value in asdict(self).items()}


def view(context: BrowserContext, url: str, shown: ShownPage, *, base: str = "/explorer") -> tuple[Page, PageTiming]:
    """Open a page below `base` in a new context, wait for its first rows, and return it with its timing."""
    page = context.new_page()
    loaded: list[Request] = []
    page.on("requestfinished", lambda request: loaded.append(request) if request.method == "GET" else None)
    page.add_init_script(f"({_WATCH})({shown.rows!r})")
    page.goto(f"{url}{base}{shown.path}")
    page.locator(shown.rows).first.wait_for()
    sizes = [request.sizes()["responseBodySize"] for request in loaded]
    times = page.evaluate(_TIMES)
    return page, PageTiming(len(sizes), sum(sizes) / 1000, times["paint"], times["rows"], times["data"])
