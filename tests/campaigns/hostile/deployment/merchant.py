"""A merchant service that watches the chain under attack, and payments to it."""

import time
from pathlib import Path
from typing import Any

import httpx

from foreseal.payments.contracts.development import DevelopmentContracts
from hostile.deployment.peer import Cursor, Peer
from hostile.facts import BALANCE
from hostile.signing import CHAIN_ID
from live.accounts import DEV_ACCOUNTS
from payments.api.serving import BUYERS, MERCHANT, Serving, Shopper, api_key, configure, signature

PAYMENT_ERRORS = (httpx.HTTPError, RuntimeError, ValueError, LookupError, AssertionError)
"""Errors of a payment: the service cannot be reached, rejects a call or answers without what was expected."""
_AMOUNT = 1_000_000
_POLL = 0.05
_HEALTH_TIME = 5.0
_POLICY = '[policy]\nconfirmed = "sealed"\n'


def merchant_alloc() -> dict[str, dict[str, Any]]:
    """Return the genesis entries of the payment contracts, and of the merchant, who pays for captures."""
    contracts = DevelopmentContracts.from_accounts([account.address for account in DEV_ACCOUNTS])
    return contracts.alloc(CHAIN_ID) | {MERCHANT.address.lower(): {"balance": hex(BALANCE)}}


class Merchant:
    """A running `foreseal pay serve`, and its buyers."""

    def __init__(self, folder: Path, node_url: str) -> None:
        folder.mkdir()
        config = configure(folder, node_url, f"sqlite:///{folder}/pay.db", CHAIN_ID, _POLICY)
        key = api_key(config)
        self.service = Serving(config)
        self._shopper = Shopper(self.service.url, key)
        self._orders = 0

    def pay(self, limit: float) -> float | None:
        """Capture an order; return the seconds until it shows the payment, None if it does not within the limit."""
        self._orders += 1
        order, buyer = f"order {self._orders}", BUYERS[self._orders % len(BUYERS)]
        begin = time.monotonic()
        end = begin + limit
        made = self._post("/v1/orders", {"id": order, "payer": buyer.address, "amount": str(_AMOUNT)}, end)
        self._post(f"/v1/orders/{order}/signature", {"signature": signature(buyer, made["typed_data"])}, end)
        self._post(f"/v1/orders/{order}/capture", {}, end)
        while not self._shopper.status(order).startswith("Used, captured"):
            if time.monotonic() > end:
                return None
            time.sleep(_POLL)
        return round(time.monotonic() - begin, 2)

    def _post(self, path: str, body: dict[str, str], end: float) -> Any:
        """Post until the service reaches its node: it pauses its calls for two seconds after a restart of the node."""
        key = f"{path} {self._orders}"
        while True:
            response = self._shopper.post(path, body, key)
            if response.status_code != httpx.codes.SERVICE_UNAVAILABLE or time.monotonic() > end:
                break
            time.sleep(_POLL)
        if not response.is_success:
            raise RuntimeError(f"{path}: {response.status_code} {response.text}")
        return response.json()

    def status(self) -> str:
        """Return state and step of the newest order."""
        return self._shopper.status(f"order {self._orders}")

    def stop(self) -> None:
        """Stop the service."""
        self._shopper.client.close()
        if self.service.process.poll() is None:
            self.service.kill()


class WatcherPeer(Peer):
    """The watcher of transfers of a merchant service."""

    def __init__(self, merchant: Merchant) -> None:
        super().__init__("watcher")
        self._url = merchant.service.url

    def behind(self, target: Cursor) -> str:
        try:
            worker = httpx.get(f"{self._url}/healthz", timeout=_HEALTH_TIME).json()["worker"]
        except httpx.HTTPError as error:
            raise ConnectionError(f"/healthz: {error!r}") from None
        # The block of a step is sealed only after it.
        read, sealed = worker["read_block"], target.block - 1
        if read is not None and read >= sealed:
            return ""
        return f"at block {read}, not {sealed}, after {worker['consecutive_failures']} failures"

    def close(self) -> None:
        """Do nothing: each check opens a connection."""
