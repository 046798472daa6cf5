"""Faults of a page: errors, violations of its content security policy, and requests to other origins."""

from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request

# Reports violations as console errors, because the page's own script cannot.
_REPORT = """
addEventListener('securitypolicyviolation', (event) =>
  console.error(`policy: ${event.violatedDirective} blocked ${event.blockedURI}`), true);
"""


class PageFaults:
    """Records of the faults of a page. Console errors for failed requests are recorded too."""

    def __init__(self, page: Page) -> None:
        """Begin to record; pages that are open already are not covered."""
        self.messages: list[str] = []
        """Description of each fault."""
        self._origins: set[str] = set()
        self._allowed: tuple[str, ...] = ()
        self._expected_origins: set[str] = set()
        page.add_init_script(_REPORT)
        page.on("pageerror", lambda error: self.messages.append(f"error: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)

    def allow(self, *texts: str) -> None:
        """Ignore faults that contain one of these texts, because the test provokes them."""
        self._allowed += texts

    def expect_origins(self, *urls: str) -> None:
        """Allow requests to these servers only, instead of one origin: the flow of the page visits all of them."""
        self._expected_origins |= {urlsplit(url).netloc for url in urls}

    @property
    def policy_violations(self) -> list[str]:
        """Faults for which the content security policy blocked something."""
        return [fault for fault in self.unexpected if "policy" in fault.lower()]

    @property
    def unexpected(self) -> list[str]:
        """Faults that are not allowed, and requests to more than one origin or to one that is not expected."""
        messages = [fault for fault in self.messages if not any(text in fault for text in self._allowed)]
        others = sorted(self._origins - self._expected_origins)
        limit = 0 if self._expected_origins else 1
        return messages + ([f"requests to several origins: {', '.join(others)}"] if len(others) > limit else [])

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.messages.append(f"console {message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob", "about"):
            self._origins.add(f"{address.hostname}:{address.port}")
