"""A served merchant whose dashboard a browser opens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from playwright.sync_api import Page, expect

from foreseal.payments.api.roles import Role
from payments.api.serving import Serving, Shopper


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
