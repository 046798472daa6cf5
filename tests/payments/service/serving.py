"""`foreseal pay serve` as its user starts it, beside a real node, and a client of it."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import httpx
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount

from command import foreseal
from foreseal.payments.contracts import development
from foreseal.payments.contracts.development import CHECKOUT, PAYOUTS, TOKEN
from live.accounts import DEV_ACCOUNTS, key_of
from live.blocks import wait_for
from live.process import foreseal_command

MERCHANT = DEV_ACCOUNTS[1]
BUYERS = DEV_ACCOUNTS[3:10]

_URL = re.compile(r"foreseal pay serve at (http://\S+:\d+)")
_START_TIME = 60.0
_STOP_TIME = 30.0


def configure(folder: Path, node_url: str, database: str, chain_id: int = 31337, more: str = "") -> Path:
    """A `pay.toml` for a merchant on `foreseal dev --payments`."""
    key = folder / "payee.key"
    key.write_text(key_of(MERCHANT))
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
    """A new key, by the command."""
    made = foreseal("pay", "keys", "create", role, "--role", role, "--config", config)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


class Serving:
    """A running `foreseal pay serve`. Its output is read as it comes."""

    def __init__(self, config: Path, *arguments: str) -> None:
        self.printed = ""
        self.process = subprocess.Popen(
            [foreseal_command(), "pay", "serve", "--config", str(config), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.url: str = wait_for(self._find_url, _START_TIME, "the URL", self._explain)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()

    def stop(self) -> int:
        """End it as a process manager does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(_STOP_TIME)
        self._reader.join()
        return code

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self.printed += line

    def _find_url(self) -> str | None:
        found = _URL.search(self.printed)
        return found[1] if found else None

    def _explain(self) -> str:
        if self.process.poll() is not None:
            self._reader.join()
            raise RuntimeError(f"it ended with {self.process.returncode}:\n{self.printed}")
        return f"it printed:\n{self.printed}"


@contextmanager
def serving(config: Path, *arguments: str) -> Iterator[Serving]:
    """One process of the service, stopped by SIGTERM at the end, which must exit with 0."""
    one = Serving(config, *arguments)
    try:
        yield one
        if one.process.poll() is None:
            assert one.stop() == 0, one.printed
    finally:
        one.kill()


class Shopper:
    """Asks a service, and signs what buyers sign. For one thread."""

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
        """An order whose authorization is stored."""
        made = self.made("/v1/orders", {"id": id, "payer": buyer.address, "amount": str(amount)} | more)
        self.made(f"/v1/orders/{id}/signature", {"signature": signature(buyer, made["typed_data"])})
        return id

    def place(self, id: str) -> str:
        order = self.get(f"/v1/orders/{id}")["order"]
        return f"{order['state']} / {order['step']}"


def signature(buyer: LocalAccount, typed_data: Any) -> str:
    """What a wallet answers to eth_signTypedData_v4."""
    return "0x" + bytes(buyer.sign_message(encode_typed_data(full_message=typed_data)).signature).hex()
