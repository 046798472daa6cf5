"""Sections of `pay.toml`. To add one, define a dataclass here and a field of `Configuration`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from foreseal.client import Options
from foreseal.payments.chain import BreakerSettings, ConfirmationPolicy, ConfirmationTier
from foreseal.payments.configuration.keys import (
    ADDRESS,
    ADDRESSES,
    DATABASE,
    LISTEN,
    PATH,
    PROCESS_NAME,
    PUBLIC_KEY,
    TEXT,
    VARIABLE,
    choice_kind,
    integer_kind,
    key,
    url_kind,
)
from foreseal.payments.configuration.secrets import Secret, SecretError
from foreseal.payments.ledger import Finality
from foreseal.payments.transactions import (
    GWEI,
    FeeSettings,
    HttpSigner,
    LocalSigner,
    SignerConnection,
    TransactionSigner,
)
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
    timeout_ms: int = key(integer_kind(50, 600_000, 3_000), "Time limit of a call to the node, in milliseconds.", 3_000)
    breaker_failures: int = key(
        integer_kind(1, 1_000, 3), "Consecutive calls without an answer after which calls fail at once.", 3
    )
    breaker_pause_ms: int = key(
        integer_kind(50, 600_000, 2_000),
        "Milliseconds between the calls that test a node that does not answer.",
        2_000,
    )

    def options(self) -> Options:
        """Return the options of the node's client."""
        return Options(timeout=self.timeout_ms / 1000)

    def breaker(self) -> BreakerSettings:
        """Return the settings of the node's circuit breaker."""
        return BreakerSettings(self.breaker_failures, self.breaker_pause_ms / 1000)


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
    """The merchant's key, which sends captures, refunds and payouts. Set one of key_file, key_env and signer_url."""

    key_file: Path | None = key(PATH, "File with the private key in hexadecimal, of mode 600.", None)
    key_env: str | None = key(VARIABLE, "Environment variable with the private key.", None)
    signer_url: str | None = key(
        url_kind("http", "https", example="https://signer.internal:9000"),
        "URL of a web3signer that has the key; signer_public_key is then required.",
        None,
    )
    signer_public_key: bytes | None = key(PUBLIC_KEY, "Uncompressed public key at the signer, 64 bytes.", None)
    signer_timeout_ms: int = key(
        integer_kind(50, 60_000, 2_000), "Time limit of a request to the signer, in milliseconds.", 2_000
    )
    signer_ca_file: Path | None = key(PATH, "Certificates of the authorities of the signer's certificate.", None)
    signer_client_cert: Path | None = key(PATH, "Certificate for mutual TLS with the signer.", None)
    signer_client_key: Path | None = key(PATH, "Private key of signer_client_cert.", None)

    def secret(self) -> Secret | None:
        """Return the location of the key; None if a signer has it. Raises `SecretError` unless one is set."""
        if self.signer_url is None:
            if self.signer_public_key is not None:
                raise SecretError("signer_public_key requires signer_url")
            return Secret(self.key_file, self.key_env)
        if (self.key_file, self.key_env) != (None, None):
            raise SecretError("set one of key_file, key_env and signer_url")
        if self.signer_public_key is None:
            raise SecretError("signer_url requires signer_public_key")
        if (self.signer_client_cert is None) != (self.signer_client_key is None):
            raise SecretError("set both signer_client_cert and signer_client_key, or neither")
        return None

    def signer(self, environment: Mapping[str, str]) -> TransactionSigner:
        """Return the signer. The service that has a key is not contacted. Raises `SecretError`."""
        secret = self.secret()
        if secret is not None:
            return LocalSigner(secret.account(environment))
        assert self.signer_url is not None
        assert self.signer_public_key is not None
        connection = SignerConnection(
            self.signer_url,
            self.signer_public_key,
            self.signer_timeout_ms / 1000,
            self.signer_ca_file,
            self.signer_client_cert,
            self.signer_client_key,
        )
        try:
            return HttpSigner(connection)
        except OSError as error:  # `ssl.SSLError` is one
            raise SecretError(f"cannot read the certificates of the signer: {error}") from None


@dataclass(frozen=True, slots=True)
class DatabaseSection:
    """Database of the ledger."""

    url: str = key(DATABASE, "SQLite, or PostgreSQL: postgresql+psycopg://host/pay.")


@dataclass(frozen=True, slots=True)
class ServeSection:
    """HTTP service of the merchant."""

    listen: tuple[str, int] = key(LISTEN, "Address of the HTTP listener.", ("127.0.0.1", 8600))
    name: str | None = key(PROCESS_NAME, "Unique name of the process; by default, host name and listen address.", None)
    lease_seconds: int = key(
        integer_kind(1, 3_600, 30), "Time without a heartbeat after which other processes take over, in seconds.", 30
    )
    checkout: str | None = key(
        ADDRESS, "Checkout contract of the merchant; without it each order has one exact amount.", None
    )
    payouts: str | None = key(ADDRESS, "Payouts contract; without it payouts are disabled.", None)


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

    min_captures: int = key(
        integer_kind(0, 10**9, 100),
        "Estimated captures that the payee's ether can pay, below which /healthz reports payee_low.",
        100,
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

    def secret(self) -> Secret:
        """Return the location of the secret. Raises `SecretError` unless exactly one is set."""
        return Secret(self.secret_file, self.secret_env)
