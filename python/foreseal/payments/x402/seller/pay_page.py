"""Settings of the page on which browsers pay."""

from dataclasses import dataclass
from urllib.parse import quote

SAFE = "/-._~"
"""Characters of a path that need no escape, next to letters and digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PayPage:
    """Texts and paths of the page."""

    base_path: str = ""
    """Path before `/x402/static/`, below which the page's files are, such as `/shop`."""
    seller_name: str | None = None
    network_name: str | None = None
    rpc_url: str | None = None
    """URL of a public node, which the page adds to wallets that lack the network."""

    def __post_init__(self) -> None:
        if (self.base_path and not self.base_path.startswith("/")) or self.base_path.endswith("/"):
            raise ValueError(f"base_path: {self.base_path!r} must be empty, or begin with / and not end with /")
        if quote(self.base_path, safe=SAFE) != self.base_path:
            raise ValueError(f"base_path: {self.base_path!r} must have only letters, digits and -._~")
