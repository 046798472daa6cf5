"""A served merchant whose dashboard a browser opens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from eth_account.signers.local import LocalAccount
from playwright.sync_api import Locator, Page, expect

from foreseal.payments.api.roles import Role
from live.blocks import wait_for
from payments.api.serving import Serving, Shopper

STAFF = tuple(role for role in Role if role is not Role.PUBLISHABLE)
"""Roles that may sign in."""

_SECONDS = 60.0
_MAX_TABS = 60
# Text of the focused element, or of its label.
_FOCUSED_NAME = "(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()"


@dataclass(frozen=True)
class Shop:
    """A served merchant with a key for each role."""

    service: Serving
    keys: dict[Role, str]
    database: Path

    @property
    def url(self) -> str:
        """Address of the dashboard."""
        return f"{self.service.url}/dashboard"

    @contextmanager
    def client(self) -> Iterator[Shopper]:
        """Yield a client with all rights."""
        with Shopper(self.service.url, self.keys[Role.ADMIN], prefix=f"{uuid4()}-") as shopper:
            yield shopper

    def sign_in(self, page: Page, role: Role = Role.ADMIN, path: str = "") -> None:
        """Open a page of the dashboard, and sign in with the key of a role."""
        page.goto(self.url + path)
        page.get_by_label("API key").fill(self.keys[role])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()

    def captured(self, id: str, amount: int, buyer: LocalAccount, **more: Any) -> str:
        """Create an order, and wait until its capture is final."""
        with self.client() as client:
            client.stored(id, amount, buyer, **more)
            client.made(f"/v1/orders/{id}/capture")
            wait_for(lambda: client.status(id) == "Used, captured / final", _SECONDS, "final capture")
        return id


def confirm(page: Page, name: str) -> None:
    """Press the button of the open dialog; it closes once the service has answered."""
    page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def result(page: Page) -> Locator:
    """Return the region that shows the result of the last movement of money."""
    return page.get_by_role("status", name="Result")


def focus_by_tab(page: Page, name: str) -> None:
    """Press Tab until the focused element has this text or label."""
    for _ in range(_MAX_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(_FOCUSED_NAME) == name:
            return
    raise AssertionError(f"no element {name!r} within {_MAX_TABS} tabs")
