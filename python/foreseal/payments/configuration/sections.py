"""Sections of `pay.toml`. To add one, define a `Section` here and a field of `Configuration`."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from foreseal.client import Options
from foreseal.payments.chain import BreakerSettings, ChainNode, ConfirmationPolicy, ConfirmationTier
from foreseal.payments.chain.stranger_calls import CALL_GAS
from foreseal.payments.configuration.checkout_section import PublicUrl
from foreseal.payments.configuration.keys import (
    Addresses,
    DatabaseUrl,
    EventTypes,
    HttpUrl,
    IpNetworks,
    ListenAddress,
    MerchantName,
    NodeUrl,
    ProcessNameText,
    PublicKey,
    SecretFilePath,
    Section,
    Text,
    VariableName,
    WebSocketUrl,
)
from foreseal.payments.configuration.secrets import Secret, SecretError
from foreseal.payments.configuration.webhook_targets import ANY_NETWORK, AddressPolicy, TargetForbidden, check_url
from foreseal.payments.ledger import Finality, Ledger
from foreseal.payments.transactions import (
    GWEI,
    FeeSettings,
    HttpSigner,
    LocalSigner,
    SignerConnection,
    TransactionIntents,
    TransactionSender,
    TransactionSigner,
)
from foreseal.payments.typed_data import Domain
from foreseal.payments.validation import AccountAddress

_LATEST = 2**63 - 1
_YEAR = 366 * 86_400
# Maximum bytes of a response of the node. Every receipt that 2^24 gas buys fits; more is read in parts.
_MAX_RESPONSE = 24 * 1024 * 1024
# Gas of a payment other than that of its payer's code.
_CALL_OVERHEAD = 1_000_000


class MerchantSection(Section):
    """Merchant in a process that serves several."""

    name: MerchantName = Field(
        description="Name of the merchant; all paths of its service begin with /NAME.", examples=["books"]
    )


class NodeSection(Section):
    """Ethereum node that the service uses."""

    url: NodeUrl = Field(description="URL of the JSON-RPC endpoint.", examples=["http://127.0.0.1:8545"])
    chain_id: int = Field(ge=1, le=_LATEST, description="Required chain id of the node (EIP-155).", examples=[31337])
    websocket: WebSocketUrl | None = Field(
        default=None,
        description="WebSocket of the node; its blocks, and the steps of a Foreseal node, wake the service.",
        examples=["ws://127.0.0.1:8545"],
    )
    poll_ms: int = Field(
        default=2_000, ge=50, le=3_600_000, description="Milliseconds between polls of the chain without a feed."
    )
    timeout_ms: int = Field(
        default=3_000, ge=50, le=600_000, description="Time limit of a call to the node, in milliseconds."
    )
    breaker_failures: int = Field(
        default=3, ge=1, le=1_000, description="Consecutive calls without an answer after which calls fail at once."
    )
    breaker_pause_ms: int = Field(
        default=2_000,
        ge=50,
        le=600_000,
        description="Milliseconds between the calls that test a node that does not answer.",
    )

    def options(self) -> Options:
        """Return the options of the node's client."""
        return Options(timeout=self.timeout_ms / 1000, max_response_size=_MAX_RESPONSE)

    def breaker(self) -> BreakerSettings:
        """Return the settings of the node's circuit breaker."""
        return BreakerSettings(self.breaker_failures, self.breaker_pause_ms / 1000)


class TokenSection(Section):
    """Token that buyers pay with."""

    address: AccountAddress = Field(
        description="Address of the token contract.", examples=["0x036CbD53842c5426634e7929541eC2318f3dCF7e"]
    )
    name: Text = Field(default="USD Coin", description="Name in the signing domain of the token (EIP-712).")
    version: Text = Field(default="2", description="Version in the signing domain of the token (EIP-712).")
    symbol: Text = Field(default="USDC", description="Symbol shown to people.")
    decimals: int = Field(
        default=6, ge=0, le=36, description="Decimals of the token; amounts are integers in its smallest unit."
    )
    start_block: int = Field(
        default=0, ge=0, le=_LATEST, description="First block in which transfers to the payee are watched."
    )
    min_transfer: int = Field(
        default=1,
        ge=1,
        le=_LATEST,
        description="Smallest transfer that is recorded, in the token's smallest unit; smaller ones are only counted.",
    )

    def domain(self, chain_id: int) -> Domain:
        """Return the EIP-712 domain in which signatures are valid."""
        return Domain(self.name, self.version, chain_id, self.address)


class KeySection(Section):
    """A section with the location of a private key."""

    key_file: SecretFilePath | None = Field(
        default=None, description="File with the private key in hexadecimal, of mode 600.", examples=["payee.key"]
    )
    key_env: VariableName | None = Field(
        default=None, description="Environment variable with the private key.", examples=["SHOP_KEY"]
    )

    @model_validator(mode="after")
    def _one_secret(self) -> Self:
        self.secret()
        return self

    def secret(self) -> Secret | None:
        """Return the location of the key. Raises `SecretError` unless exactly one is set."""
        return Secret(self.key_file, self.key_env)


class AccountSection(KeySection):
    """A section with a private key."""

    def secret(self) -> Secret:
        """Return the location of the key. Raises `SecretError` unless exactly one is set."""
        return Secret(self.key_file, self.key_env)


class PayeeSection(KeySection):
    """The merchant's key, which sends captures, refunds and payouts. Set one of key_file, key_env and signer_url."""

    signer_url: HttpUrl | None = Field(
        default=None,
        description="URL of a web3signer that has the key; signer_public_key is then required.",
        examples=["https://signer.internal:9000"],
    )
    signer_public_key: PublicKey | None = Field(
        default=None, description="Uncompressed public key at the signer, 64 bytes.", examples=["0x" + "04" * 64]
    )
    signer_timeout_ms: int = Field(
        default=2_000, ge=50, le=60_000, description="Time limit of a request to the signer, in milliseconds."
    )
    signer_ca_file: SecretFilePath | None = Field(
        default=None,
        description="Certificates of the authorities of the signer's certificate.",
        examples=["signer-ca.pem"],
    )
    signer_client_cert: SecretFilePath | None = Field(
        default=None, description="Certificate for mutual TLS with the signer.", examples=["client.pem"]
    )
    signer_client_key: SecretFilePath | None = Field(
        default=None, description="Private key of signer_client_cert.", examples=["client.key"]
    )

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


class DatabaseSection(Section):
    """Database of the ledger."""

    url: DatabaseUrl = Field(
        description="SQLite, or PostgreSQL: postgresql+psycopg://host/pay.", examples=["sqlite:///pay.db"]
    )


class ServeSection(Section):
    """HTTP service of the merchant."""

    listen: ListenAddress = Field(default=("127.0.0.1", 8600), description="Address of the HTTP listener.")
    name: ProcessNameText | None = Field(
        default=None,
        description="Unique name of the process; by default, host name and listen address.",
        examples=["shop-1"],
    )
    lease_seconds: int = Field(
        default=30,
        ge=1,
        le=3_600,
        description="Time without a heartbeat after which other processes take over, in seconds.",
    )
    checkout: AccountAddress | None = Field(
        default=None,
        description="Checkout contract of [token] and [payee]; without it each order has one exact amount.",
        examples=["0x5FbDB2315678afecb367f032d93F642f64180aa3"],
    )
    payouts: AccountAddress | None = Field(
        default=None,
        description="Payouts contract of [token]; without it payouts in this token are disabled.",
        examples=["0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"],
    )
    batch_capture: AccountAddress | None = Field(
        default=None,
        description="Batch capture contract of [token] and [payee]; without it each capture is a transaction.",
        examples=["0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"],
    )
    webhook_networks: IpNetworks = Field(
        default=(),
        description="Private networks that may contain webhook targets; by default only public addresses are allowed.",
        examples=[["10.20.0.0/16"]],
    )
    webhook_concurrency: int = Field(
        default=128, ge=1, le=512, description="Maximum number of concurrent deliveries to one webhook target."
    )


class DashboardSection(Section):
    """Dashboard of the merchant at /dashboard, on the listener of the service."""

    enabled: bool = Field(default=True, description="False to serve no dashboard, and to accept no sessions.")
    public_url: PublicUrl | None = Field(
        default=None,
        description="URL at which browsers reach the service, required behind a proxy with TLS; by default the Host "
        "of each request.",
        examples=["https://pay.shop.example"],
    )
    idle_minutes: int = Field(
        default=30, ge=1, le=1_440, description="Minutes without a request after which a session ends."
    )
    session_hours: int = Field(default=12, ge=1, le=168, description="Hours after which every session ends.")
    explorer_url: HttpUrl | None = Field(
        default=None,
        description="Explorer that transactions link to; by default none.",
        examples=["http://127.0.0.1:8545/explorer"],
    )


class FacilitatorSection(AccountSection):
    """x402 facilitator, whose key pays the gas of settlements. Set one of key_file and key_env."""

    key_file: SecretFilePath | None = Field(
        default=None, description="File with the private key in hexadecimal, of mode 600.", examples=["facilitator.key"]
    )
    key_env: VariableName | None = Field(
        default=None, description="Environment variable with the private key.", examples=["FACILITATOR_KEY"]
    )
    listen: ListenAddress = Field(default=("127.0.0.1", 8602), description="Address of the HTTP listener.")
    tokens: Addresses = Field(
        default=(),
        description="Tokens that it settles; by default that of `[token]`, and any token without that section.",
        examples=[["0x036CbD53842c5426634e7929541eC2318f3dCF7e"]],
    )
    payees: Addresses = Field(
        default=(),
        description="Payees whose payments it settles; by default any.",
        examples=[["0x90F79bf6EB2c4f870365E785982E1f101E93b906"]],
    )
    wait_seconds: int = Field(
        default=5, ge=1, le=300, description="Maximum wait for the pre-confirmation of a settlement, in seconds."
    )


class PolicySection(Section):
    """Confirmation, refund and fee policy of the merchant."""

    confirmed: Annotated[ConfirmationTier, Field(strict=False)] = Field(
        default=ConfirmationTier.BLOCKS, description="Condition for a confirmed payment."
    )
    blocks: int = Field(default=12, ge=1, le=100_000, description='Number of blocks, if confirmed = "blocks".')
    refundable: Annotated[Finality, Field(strict=False)] = Field(
        default=Finality.FINAL, description="Finality that a capture needs before a refund."
    )
    margin_seconds: int = Field(
        default=60, ge=1, le=_YEAR, description="Margin before validBefore in which nothing is captured, in seconds."
    )
    valid_seconds: int = Field(default=3_600, ge=1, le=_YEAR, description="Default validity of an order, in seconds.")
    max_gwei: int = Field(default=500, ge=1, le=10**9, description="Maximum fee per gas of a transaction, in gwei.")
    payer_code_gas: int = Field(
        default=500_000,
        ge=0,
        le=2**24,
        description="Maximum gas that a payer that is a contract (ERC-1271) may add to a transaction.",
    )
    payer_lost_gas: int = Field(
        default=1_200_000,
        ge=0,
        le=10**12,
        description="Gas within an hour that a payer may cost by transactions that revert. Beyond it, its orders are "
        "captured only on request, and it cannot pay by x402.",
    )
    code_lost_gas: int = Field(
        default=12_000_000,
        ge=0,
        le=10**12,
        description="The same for all payers that are contracts together. Their transactions without a receipt count "
        "with their gas limit.",
    )
    patience_blocks: int = Field(
        default=10,
        ge=1,
        le=100_000,
        description="Blocks without inclusion after which a transaction is replaced with 10 % higher fees.",
    )
    min_captures: int = Field(
        default=100,
        ge=0,
        le=10**9,
        description="Estimated captures that the ether of a payee pays, below which /healthz reports payee_low.",
    )

    def policy(self) -> ConfirmationPolicy:
        """Return the policy that confirms transfers."""
        return ConfirmationPolicy(self.confirmed, self.blocks)

    def fees(self) -> FeeSettings:
        """Return the limits of fees and gas of transactions."""
        return FeeSettings(
            max_fee=self.max_gwei * GWEI,
            patience_blocks=self.patience_blocks,
            payer_code_gas=self.payer_code_gas,
            payer_lost_gas=self.payer_lost_gas,
            code_lost_gas=self.code_lost_gas,
        )

    def stranger_gas(self) -> int:
        """Return the gas of a call of a payer's code: enough for all that a transaction may use."""
        return max(CALL_GAS, self.payer_code_gas + _CALL_OVERHEAD)

    def sender(self, ledger: Ledger, node: ChainNode, intents: TransactionIntents) -> TransactionSender:
        """Return the sender of an account's transactions with this policy."""
        return TransactionSender(ledger, node, intents, self.policy(), self.fees())


class WebhookSection(Section):
    """Target of webhooks. There may be several."""

    url: HttpUrl = Field(description="URL of the webhook target.", examples=["https://shop.example/hooks"])
    secret_file: SecretFilePath | None = Field(
        default=None, description="File with the secret that signs, of mode 600.", examples=["webhook.secret"]
    )
    secret_env: VariableName | None = Field(
        default=None, description="Environment variable with the secret that signs.", examples=["HOOK_SECRET"]
    )
    events: EventTypes | None = Field(
        default=None,
        description="Event types that the target receives; by default all.",
        examples=[["order.captured", "refund.completed"]],
    )
    allow_private: bool = Field(
        default=False, description="True if the target may have any address, also in a private network."
    )

    @model_validator(mode="after")
    def _one_secret(self) -> Self:
        self.secret()
        return self

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
