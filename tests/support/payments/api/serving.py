"""`foreseal pay serve` started like by its user, with a real node, and a client of it."""

import re
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

import httpx
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

from command import foreseal
from foreseal.payments.contracts import development
from foreseal.payments.contracts.development import CHECKOUT, PAYOUTS, TOKEN
from live.accounts import DEV_ACCOUNTS, key_of
from live.process import Served, foreseal_command, stopping

MERCHANT = DEV_ACCOUNTS[1]
BUYERS = DEV_ACCOUNTS[3:10]


def configure(
    folder: Path,
    node_url: str,
    database: str,
    chain_id: int = 31337,
    more: str = "",
    payee: LocalAccount = MERCHANT,
) -> Path:
    """Write a `pay.toml` for a merchant on `foreseal dev --payments`."""
    key = folder / "payee.key"
    key.write_text(key_of(payee))
    key.chmod(0o600)
    path = folder / "pay.toml"
    path.write_text(
        f"""
[node]
url = "{node_url}"
websocket = "{node_url.replace("http", "ws", 1)}"
chain_id = {chain_id}
poll_ms = 500
[token]
address = "{TOKEN}"
name = "{development.NAME}"
version = "{development.VERSION}"
[payee]
key_file = "{key}"
[database]
url = '{database}'
[serve]
listen = "127.0.0.1:0"
lease_seconds = 2
checkout = "{CHECKOUT}"
payouts = "{PAYOUTS}"
{more}
"""
    )
    return path


def api_key(config: Path, role: str = "admin") -> str:
    """Create a new key by the command."""
    made = foreseal("pay", "keys", "create", role, "--role", role, "--config", config)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


class Serving(Served):
    """A running `foreseal pay serve`."""

    URL = re.compile(r"(?<=foreseal pay serve at )http://\S+:\d+")
    # /healthz would wait for the node.
    READY = "/v1/openapi.json"

    def __init__(self, config: Path, *arguments: str) -> None:
        super().__init__([foreseal_command(), "pay", "serve", "--config", str(config), *arguments])


class HostedServing(Served):
    """A running `foreseal pay serve` of several merchants."""

    URL = Serving.URL
    READY = "/metrics"

    def __init__(self, *configs: Path) -> None:
        options = [option for config in configs for option in ("--config", str(config))]
        super().__init__([foreseal_command(), "pay", "serve", *options])


def serving(config: Path, *arguments: str) -> AbstractContextManager[Serving]:
    """Run one process of the service; SIGTERM stops it at the end, and it must exit with 0."""
    return stopping(Serving(config, *arguments))


def health(url: str, seconds: float = 4.0) -> Any:
    """Return the health of a service or a facilitator, which it must return within a bound on time.

    A service that waits for its node takes longer each time, a busy machine only once.
    """
    for _ in range(3):
        began = time.monotonic()
        response = httpx.get(f"{url}/healthz", timeout=60)
        if time.monotonic() - began < seconds:
            break
    else:
        raise AssertionError(f"/healthz took longer than {seconds} s three times")
    report = response.json()
    assert response.status_code == (503 if report["status"] == "unhealthy" else 200)
    assert response.headers["cache-control"] == "no-store"
    return report


class Shopper:
    """A client of the service that also signs for buyers. For one thread."""

    def __init__(self, url: str, key: str, prefix: str = "") -> None:
        self.client = httpx.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=60)
        self._prefix = prefix
        self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def get(self, path: str) -> Any:
        response = self.client.get(path)
        assert response.status_code == 200, response.text
        return response.json()

    def post(self, path: str, body: Any = None, key: str | None = None) -> httpx.Response:
        self._drawn += 1
        headers = {"idempotency-key": key or f"{self._prefix}{self._drawn}"}
        return self.client.post(path, json=body or {}, headers=headers)

    def made(self, path: str, body: Any = None, key: str | None = None) -> Any:
        response = self.post(path, body, key)
        assert response.status_code in (200, 201), response.text
        return response.json()

    def stored(self, id: str, amount: int, buyer: LocalAccount, **more: Any) -> str:
        """Create an order whose authorization is stored."""
        made = self.made("/v1/orders", {"id": id, "payer": buyer.address, "amount": str(amount)} | more)
        self.made(f"/v1/orders/{id}/signature", {"signature": signature(buyer, made["typed_data"])})
        return id

    def status(self, id: str) -> str:
        order = self.get(f"/v1/orders/{id}")["order"]
        return f"{order['state']} / {order['finality'] or order['tx_status'] or 'idle'}"


def signature(buyer: LocalAccount, typed_data: Any) -> str:
    """Return a wallet's response to eth_signTypedData_v4."""
    return "0x" + bytes(buyer.sign_message(encode_typed_data(full_message=typed_data)).signature).hex()
