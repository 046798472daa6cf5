"""Accessibility checks of a page with axe-core."""

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

_SCRIPT = Path(axe_playwright_python.__file__).parent / "axe.min.js"
_SERIOUS = ("serious", "critical")


def serious_findings(page: Page) -> list[str]:
    """Return the serious and critical findings of axe-core on a page, one text per element."""
    # Evaluated by the debugger, which the content security policy of the page does not restrict.
    page.evaluate(_SCRIPT.read_text())
    report = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{finding['id']}: {finding['help']}: {node['html'][:200]}"
        for finding in report["violations"]
        if finding["impact"] in _SERIOUS
        for node in finding["nodes"]
    ]
