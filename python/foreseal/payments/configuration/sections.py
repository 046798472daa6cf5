"""Sections of `pay.toml`. To add one, define a dataclass here and a field of `Configuration`."""

from dataclasses import dataclass
from pathlib import Path

from foreseal.payments.chain import ConfirmationPolicy, ConfirmationTier
from foreseal.payments.configuration.keys import (
    ADDRESS,
    ADDRESSES,
    DATABASE,
    FLAG,
    LISTEN,
    PATH,
    TEXT,
    VARIABLE,
    choice_kind,
    integer_kind,
    key,
    texts_kind,
    url_kind,
)
from foreseal.payments.configuration.secrets import Secret
from foreseal.payments.configuration.webhook_targets import (
    ANY_NETWORK,
    AddressPolicy,
    Network,
    TargetForbidden,
    check_url,
    parse_networks,
)
from foreseal.payments.ledger import Finality
from foreseal.payments.ledger.event_types import check_types
from foreseal.payments.transactions import GWEI, FeeSettings
from foreseal.payments.typed_data import Domain

_LATEST = 2**63 - 1
_YEAR = 366 * 86_400


@dataclass(frozen=True, slots=True)
class NodeSection:
    """Ethereum node that the service uses."""

    url: str = key(
        url_kind("http", "https", "ws", "wss", example="http://127.0.0.1:8545"), "URL of the JSON-RPC endpoint."
    )
    chain_id: int = key(integer_kind(1, _LATEST, 31337), "Required chain id of the node (EIP-155).")
    websocket: str | None = key(
        url_kind("ws", "wss", example="ws://127.0.0.1:8545"),
        "WebSocket of a Foreseal node; new steps wake the service.",
        None,
    )
    poll_ms: int = key(
        integer_kind(50, 3_600_000, 2_000), "Milliseconds between polls of the chain without a feed.", 2_000
    )


@dataclass(frozen=True, slots=True)
class TokenSection:
    """Token that buyers pay with."""

    address: str = key(ADDRESS, "Address of the token contract.")
    name: str = key(TEXT, "Name in the signing domain of the token (EIP-712).", "USD Coin")
    version: str = key(TEXT, "Version in the signing domain of the token (EIP-712).", "2")
    symbol: str = key(TEXT, "Symbol shown to people.", "USDC")
    decimals: int = key(integer_kind(0, 36, 6), "Decimals of the token; amounts are integers in its smallest unit.", 6)
    start_block: int = key(integer_kind(0, _LATEST, 0), "First block in which transfers to the payee are watched.", 0)

    def domain(self, chain_id: int) -> Domain:
        """Return the EIP-712 domain in which signatures are valid."""
        return Domain(self.name, self.version, chain_id, self.address)


@dataclass(frozen=True, slots=True)
class PayeeSection:
    """The merchant's key, which sends captures, refunds and payouts. Set one of key_file and key_env."""

    key_file: Path | None = key(PATH, "File with the private key in hexadecimal, of mode 600.", None)
    key_env: str | None = key(VARIABLE, "Environment variable with the private key.", None)

    def secret(self) -> Secret:
        """Return the location of the key. Raises `SecretError` unless exactly one is set."""
        return Secret(self.key_file, self.key_env)


@dataclass(frozen=True, slots=True)
class DatabaseSection:
    """Database of the ledger."""

    url: str = key(DATABASE, "SQLite, or PostgreSQL: postgresql+psycopg://host/pay.")


@dataclass(frozen=True, slots=True)
class ServeSection:
    """HTTP service of the merchant."""

    listen: tuple[str, int] = key(LISTEN, "Address of the HTTP listener.", ("127.0.0.1", 8600))
    lease_seconds: int = key(
        integer_kind(1, 3_600, 30), "Time without a heartbeat after which other processes take over, in seconds.", 30
    )
    checkout: str | None = key(
        ADDRESS, "Checkout contract of the merchant; without it each order has one exact amount.", None
    )
    payouts: str | None = key(ADDRESS, "Payouts contract; without it payouts are disabled.", None)
    webhook_networks: tuple[Network, ...] = key(
        texts_kind(parse_networks, ["10.20.0.0/16"]),
        "Private networks that may contain webhook targets; by default only public addresses are allowed.",
        (),
    )
    webhook_concurrency: int = key(
        integer_kind(1, 512, 128), "Maximum number of concurrent deliveries to one webhook target.", 128
    )


@dataclass(frozen=True, slots=True)
class FacilitatorSection:
    """x402 facilitator, whose key pays the gas of settlements. Set one of key_file and key_env."""

    key_file: Path | None = key(PATH, "File with the private key in hexadecimal, of mode 600.", None)
    key_env: str | None = key(VARIABLE, "Environment variable with the private key.", None)
    listen: tuple[str, int] = key(LISTEN, "Address of the HTTP listener.", ("127.0.0.1", 8602))
    tokens: tuple[str, ...] = key(ADDRESSES, "Tokens that it settles; by default any.", ())
    payees: tuple[str, ...] = key(ADDRESSES, "Payees whose payments it settles; by default any.", ())
    wait_seconds: int = key(
        integer_kind(1, 300, 5), "Maximum wait for the pre-confirmation of a settlement, in seconds.", 5
    )

    def secret(self) -> Secret:
        """Return the location of the key. Raises `SecretError` unless exactly one is set."""
        return Secret(self.key_file, self.key_env)


@dataclass(frozen=True, slots=True)
class PolicySection:
    """Confirmation, refund and fee policy of the merchant."""

    confirmed: ConfirmationTier = key(
        choice_kind(ConfirmationTier, ConfirmationTier.BLOCKS),
        "Condition for a confirmed payment.",
        ConfirmationTier.BLOCKS,
    )
    blocks: int = key(integer_kind(1, 100_000, 12), 'Number of blocks, if confirmed = "blocks".', 12)
    refundable: Finality = key(
        choice_kind(Finality, Finality.FINAL, Finality.PROVISIONAL, Finality.CONFIRMED, Finality.FINAL),
        "Finality that a capture needs before a refund.",
        Finality.FINAL,
    )
    margin_seconds: int = key(
        integer_kind(1, _YEAR, 60), "Margin before validBefore in which nothing is captured, in seconds.", 60
    )
    valid_seconds: int = key(integer_kind(1, _YEAR, 3_600), "Default validity of an order, in seconds.", 3_600)
    max_gwei: int = key(integer_kind(1, 10**9, 500), "Maximum fee per gas of a transaction, in gwei.", 500)
    patience_blocks: int = key(
        integer_kind(1, 100_000, 10),
        "Blocks without inclusion after which a transaction is replaced with 10 % higher fees.",
        10,
    )

    def policy(self) -> ConfirmationPolicy:
        """Return the policy that confirms transfers."""
        return ConfirmationPolicy(self.confirmed, self.blocks)

    def fees(self) -> FeeSettings:
        """Return the fee limits of transactions."""
        return FeeSettings(max_fee=self.max_gwei * GWEI, patience_blocks=self.patience_blocks)


@dataclass(frozen=True, slots=True)
class WebhookSection:
    """Target of webhooks. There may be several."""

    url: str = key(url_kind("http", "https", example="https://shop.example/hooks"), "URL of the webhook target.")
    secret_file: Path | None = key(PATH, "File with the secret that signs, of mode 600.", None)
    secret_env: str | None = key(VARIABLE, "Environment variable with the secret that signs.", None)
    events: tuple[str, ...] | None = key(
        texts_kind(check_types, ["order.captured", "refund.completed"]),
        "Event types that the target receives; by default all.",
        None,
    )
    allow_private: bool = key(FLAG, "True if the target may have any address, also in a private network.", False)

    def secret(self) -> Secret:
        """Return the location of the secret. Raises `SecretError` unless exactly one is set."""
        return Secret(self.secret_file, self.secret_env)

    def policy(self, serve: ServeSection) -> AddressPolicy:
        """Return the addresses that the target may have."""
        return AddressPolicy(ANY_NETWORK if self.allow_private else serve.webhook_networks)

    def problem(self, serve: ServeSection) -> str | None:
        """Return why the URL is not allowed, or None."""
        try:
            check_url(self.url, self.policy(serve))
        except TargetForbidden as error:
            return str(error)
        return None
