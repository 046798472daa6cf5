"""A real browser for tests of pages: Debian's chromium, driven by Playwright."""

from browser.accessibility import serious_findings
from browser.chromium import BrowserPage, Chromium, chromium_or_skip, running_chromium
from browser.violations import PageFaults

__all__ = ["BrowserPage", "Chromium", "PageFaults", "chromium_or_skip", "running_chromium", "serious_findings"]
