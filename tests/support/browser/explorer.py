"""The explorer of a running node, and a chain with content for its pages."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from playwright.sync_api import Page

from browser.accessibility import serious_findings
from browser.chromium import Chromium, Scheme, open_page
from live import DEV_ACCOUNTS, LiveNode, wait_for
from live.contracts import Contract
from live.sending import Sender, signed

EXPLORER_OPTIONS = ("--step", "200ms", "--payments", "--safe-depth", "2", "--finalized-depth", "4")
"""Options of the development node of most flows: steps as slow as in production, finality within seconds."""

_SECONDS = 60.0
# Seconds after a change of the colour scheme until a finding of axe-core is one of the page.
_SETTLED = 10.0


class Explorer:
    """Opens pages of the explorer and checks that they show no fault."""

    def __init__(self, chromium: Chromium, url: str) -> None:
        self._chromium = chromium
        self.url = url

    def address(self, path: str) -> str:
        """Return the URL of a page."""
        return f"{self.url}/explorer{path}"

    @contextmanager
    def opened(
        self, path: str, *, scheme: Scheme = "light", phone: bool = False, allow: tuple[str, ...] = ()
    ) -> Iterator[Page]:
        """Yield a page of the explorer.

        At the end it must have shown no error, no policy violation and no request to another origin, must not scroll
        horizontally, and axe-core must find nothing serious in both colour schemes. `allow` has texts of faults that
        the test provokes.
        """
        with self._chromium.context(scheme=scheme, phone=phone) as context:
            opened = open_page(context)
            opened.faults.allow(*allow)
            page = opened.page
            page.goto(self.address(path))
            try:
                yield page
            finally:
                # An answer that is still on its way is no failure of the test.
                page.unroute_all(behavior="ignoreErrors")
            check_layout(page)
            findings = serious_findings(page)
            assert findings == [], findings
            page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
            check_changed_scheme(page)
            assert opened.faults.unexpected == [], opened.faults.unexpected
            assert opened.faults.policy_violations == []


def check_layout(page: Page) -> None:
    """Check that the page does not scroll horizontally."""
    surplus = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert surplus == 0, f"the page is {surplus} pixels wider than its window"


def check_changed_scheme(page: Page) -> None:
    """Check that axe-core finds nothing serious that stays after a change of the colour scheme.

    For up to a second, chromium computes colours of the former one.
    """
    findings: list[str] = []

    def has_none() -> bool:
        findings[:] = serious_findings(page)
        return not findings

    wait_for(has_none, _SETTLED, "page without findings of axe-core", lambda: "\n".join(findings))


def wait_on(page: Page, holds: Callable[[], bool]) -> None:
    """Wait until a condition holds that events of the page change."""
    end = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < end, "the event did not come"
        page.wait_for_timeout(20)


class ExplorerChain:
    """Sends transactions that give the pages content."""

    def __init__(self, node: LiveNode, account: int = 0) -> None:
        """Send from this development account."""
        self.node = node
        self.rpc = node.rpc
        self.account = DEV_ACCOUNTS[account]
        self._sender = Sender(node.rpc, self.account)

    def with_account(self, account: int) -> "ExplorerChain":
        """Return a sender of another development account on the same node."""
        return ExplorerChain(self.node, account)

    def send(self, nonce: int | None = None, **fields: object) -> str:
        """Send a transaction, and return its hash. Without `to`, it goes to its sender."""
        return self._sender.send(nonce, **fields)

    def signed(self, nonce: int, **fields: object) -> tuple[str, str]:
        """Return a raw transaction that is not sent, and its hash."""
        raw = signed(self.account, nonce, **fields)
        return raw, "0x" + keccak(hexstr=raw).hex()

    def nonce(self) -> int:
        """Return the next nonce of the account."""
        return self._sender.nonce()

    def included(self, **fields: object) -> str:
        """Send a transaction, wait until a step has it, and return its hash."""
        digest = self._sender.send(None, **fields)
        self.receipt(digest)
        return digest

    def receipt(self, digest: str) -> dict[str, object]:
        """Return the receipt of a transaction once a step has it."""
        return wait_for(lambda: self.rpc("eth_getTransactionReceipt", digest), _SECONDS, f"receipt of {digest}")

    def wait_for_status(self, digest: str, *wanted: str) -> None:
        """Wait until the status of a transaction is one of `wanted`."""
        wait_for(
            lambda: self.rpc("foreseal_transactionStatus", digest)["status"] in wanted,
            _SECONDS,
            f"{wanted} of {digest}",
        )

    def deploy(self, contract: Contract, *arguments: int) -> str:
        """Deploy a contract whose constructor accepts numbers, and return its address."""
        data = contract.bytecode + encode(["uint256"] * len(arguments), arguments).hex()
        return self.deploy_code(data)

    def deploy_code(self, creation: str) -> str:
        """Deploy creation code, and return the address of the contract."""
        digest = self.send(to="", data=creation, gas=5_000_000)
        return to_checksum_address(str(self.receipt(digest)["contractAddress"]))


def call_data(signature: str, *arguments: object) -> str:
    """Return the data of a call, such as `call_data("transfer(address,uint256)", to, 5)`."""
    types = _split(signature[signature.index("(") + 1 : -1])
    return "0x" + (keccak(text=signature)[:4] + encode(types, arguments)).hex()


def _split(types: str) -> list[str]:
    """Split at the commas that are outside of tuples."""
    parts, depth = [""], 0
    for letter in types:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part]
