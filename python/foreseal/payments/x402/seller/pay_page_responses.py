"""Pay page: the demand for a browser, at the address of the resource, and the page's files.

```text
GET /report                Accept prefers HTML, no payment: 402 with the page
                           any other request: the same bytes as without the page
/x402/static/...           files of the page
/x402/details.json         what the seller shows of itself: name, token, network
```

The page requests the demand as JSON, signs a payment with the wallet of the browser, and repeats the request with it.
The document contains no data, so no text of a seller or a request can become markup.
"""

import functools
from urllib.parse import quote

import orjson
from starlette.requests import Request
from x402.http.constants import PAYMENT_REQUIRED_HEADER

from foreseal.pages import StaticSite
from foreseal.payments.x402.seller.content_negotiation import prefers_html
from foreseal.payments.x402.seller.grants import GrantedResponse
from foreseal.payments.x402.seller.pay_page import SAFE, PayPage
from foreseal.payments.x402.seller.payment_requirements import JSON, NO_STORE, SellerSettings

_REPLACED = (b"etag", b"vary", b"cache-control")
_MAX_MOUNTS = 16
_READING = ("GET", "HEAD")


class PayPageResponses:
    """Responses of the pay page of one seller."""

    def __init__(self, page: PayPage, settings: SellerSettings) -> None:
        self._base = page.base_path
        named = settings.denomination
        details = {
            "asset": settings.domain.contract,
            "chain_id": settings.domain.chain_id,
            "symbol": None if named is None else named.symbol,
            "decimals": None if named is None else named.decimals,
            "seller_name": page.seller_name,
            "network_name": page.network_name,
            "rpc_url": page.rpc_url,
        }
        self._details = GrantedResponse(200, (JSON, ("cache-control", "no-cache")), orjson.dumps(details))

    def find(self, request: Request, path: str) -> GrantedResponse | None:
        """Return a file of the page, or None for any other path. `path` is that without the mount point."""
        if request.method not in _READING:
            return None
        site = _site()
        if path == f"{self._base}{site.prefix}/details.json":
            return self._details
        if not path.startswith(f"{self._base}{site.prefix}/static/"):
            return None
        headers = {name.lower(): value for name, value in request.scope["headers"]}
        site_response = site.respond(request.method, path.removeprefix(self._base), headers)
        lines = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in site_response.headers)
        return GrantedResponse(site_response.status, lines, site_response.body)

    def demand(self, request: Request, refusal: GrantedResponse) -> GrantedResponse:
        """Return the page in place of a 402 response if the client prefers it; else the same response."""
        if request.method not in _READING or not prefers_html(request.headers.getlist("accept")):
            return refusal
        site = _mounted(quote(str(request.scope.get("root_path", "")), safe=SAFE) + self._base)
        site_response = site.respond("GET", site.prefix, {})
        lines = [(name.decode(), value.decode()) for name, value in site_response.headers if name not in _REPLACED]
        required = [pair for pair in refusal.headers if pair[0] == PAYMENT_REQUIRED_HEADER.lower()]
        headers = (*lines, ("vary", "accept"), NO_STORE, *required)
        return GrantedResponse(refusal.status, headers, site_response.body)


@functools.cache
def _site() -> StaticSite:
    # Images of a paid response are shown from memory.
    return StaticSite("x402", sources={"img-src": "'self' data: blob:"})


@functools.lru_cache(_MAX_MOUNTS)
def _mounted(base: str) -> StaticSite:
    return _site().mounted_at(base)
