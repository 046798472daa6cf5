"""Configuration and keys of the demo shop's merchant service."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import orjson
from eth_account.signers.local import LocalAccount
from sqlalchemy import URL, Connection

from foreseal.payments.api import api_keys
from foreseal.payments.api.roles import Role
from foreseal.payments.api.webhook_signature import new_secret
from foreseal.payments.contracts.development import CHECKOUT, NAME, PAYOUTS, TOKEN, VERSION
from foreseal.payments.demo.shop.app import ShopSettings
from foreseal.payments.demo.shop.order_book import EVENTS
from foreseal.payments.ledger import Database

CONFIGURATION = "pay.toml"
"""Name of the configuration file in the folder of the demo."""
_SECRET_MODE = 0o600
_KEY_NAME = "shop demo"


@dataclass(frozen=True, slots=True)
class ShopAddresses:
    """Addresses of the demo's servers."""

    shop: str
    service: str
    node: str

    @property
    def explorer(self) -> str:
        """URL of the explorer."""
        return f"{self.node}/explorer"


def prepare(folder: Path, addresses: ShopAddresses, merchant: LocalAccount, chain_id: int) -> tuple[ShopSettings, str]:
    """Write the service's configuration to a folder, and create API keys; those of an earlier run are revoked.

    Return the settings of the shop, and an API key for the dashboard. Raises OSError and the database's errors.
    """
    secret_file = folder / "webhook.secret"
    if not secret_file.exists():
        _write_secret(secret_file, new_secret())
    _write_secret(folder / "payee.key", "0x" + bytes(merchant.key).hex())
    url = URL.create("sqlite", database=str(folder / "pay.db")).render_as_string()
    (folder / CONFIGURATION).write_text(_configuration(folder, addresses, url, chain_id))
    database = Database(url)
    try:
        with database.transaction() as tx:
            _revoke_keys(tx)
            cashier, refunder, admin = (_create_key(tx, role) for role in (Role.CASHIER, Role.REFUNDER, Role.ADMIN))
    finally:
        database.close()
    settings = ShopSettings(
        addresses.shop, addresses.service, addresses.explorer, cashier, refunder, secret_file.read_text().strip()
    )
    return settings, admin


def _configuration(folder: Path, addresses: ShopAddresses, database_url: str, chain_id: int) -> str:
    listen = addresses.service.removeprefix("http://")
    return f"""\
[node]
url = "{addresses.node}"
websocket = "{addresses.node.replace("http", "ws", 1)}"
chain_id = {chain_id}
poll_ms = 500
[token]
address = "{TOKEN}"
name = "{NAME}"
version = "{VERSION}"
[payee]
key_file = {_toml(str(folder / "payee.key"))}
[database]
url = {_toml(database_url)}
[serve]
listen = "{listen}"
lease_seconds = 2
checkout = "{CHECKOUT}"
payouts = "{PAYOUTS}"
[checkout]
public_url = "{addresses.service}"
merchant_name = "Demo shop"
origins = ["{addresses.shop}"]
network_name = "Development chain"
rpc_url = "{addresses.node}"
explorer_url = "{addresses.explorer}"
pretend_wallet = true
[dashboard]
explorer_url = "{addresses.explorer}"
[policy]
confirmed = "sealed"
refundable = "confirmed"
[[webhooks]]
url = "{addresses.shop}/webhooks"
secret_file = {_toml(str(folder / "webhook.secret"))}
events = {_toml(EVENTS)}
allow_private = true
"""


def _toml(value: object) -> str:
    """Return a value in TOML, whose strings and arrays have the form of JSON."""
    return orjson.dumps(value).decode()


def _write_secret(path: Path, text: str) -> None:
    # The mode of an existing file would not change.
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _SECRET_MODE), "w") as file:
        file.write(text + "\n")


def _create_key(tx: Connection, role: Role) -> str:
    return api_keys.create(tx, f"{_KEY_NAME} {role}", role, int(time.time()))


def _revoke_keys(tx: Connection) -> None:
    for row in api_keys.listed(tx):
        if row.revoked is None and row.name.startswith(f"{_KEY_NAME} "):
            api_keys.revoke(tx, row.id, int(time.time()))
