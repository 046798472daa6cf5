"""Settings of a server, typed and validated."""

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from foreseal.rpc.limits import Limits
from foreseal.server.settings.access import AccessSettings
from foreseal.server.settings.cluster_options import ClusterOptions
from foreseal.server.settings.durations import format_duration
from foreseal.server.settings.engine_options import EngineOptions
from foreseal.server.settings.pool_options import PoolOptions
from foreseal.server.settings.public_limits import PublicCoreLimits, PublicLimits, lower_limits
from foreseal.server.settings.setting import REASON_IN_DATA, Setting, SettingsError
from foreseal.server.settings.table import TABLE
from foreseal.server.sockets.listening import ASGI, NATIVE
from foreseal.server.sockets.tls import TlsFiles

PUBLIC, DEDICATED, EXTENSION = "public", "dedicated", "extension"
"""Tiers of callers."""

MIN_STEP = 10
DRAIN_TIME = 10_000
STOP_MARGIN = 5_000
"""Milliseconds that a stop may take beyond the drain times."""
PROCESS_MEMORY, WORKER_MEMORY = 512 << 20, 320 << 20
"""Bytes for data of the chain in a process: of a node with one process, and with workers."""
MAX_SHRINK, MAX_GROWTH = 32, 256
"""Bounds of the factors by which tables are smaller or larger than with the default memory."""
WEI = 10**18
_TLS = ("tls_cert", "tls_key", "tls_client_ca")


@dataclass(frozen=True, slots=True)
class DevChain:
    """The development genesis: newest mainnet rules and funded accounts."""

    chain_id: int = 31337
    mnemonic: str = "test test test test test test test test test test test junk"
    accounts: int = 20
    balance: int = 10_000
    """Balance of each account, in ether."""
    genesis_time: int | None = None
    """Timestamp of the genesis block in Unix seconds; None is the time of its creation."""
    payments: bool = False
    """Include the payment contracts in the genesis: `foreseal dev` adds them to `Settings.alloc`."""


@dataclass(frozen=True, slots=True)
class ListenSettings:
    """Public listener of `foreseal dev` and `foreseal run`; the ASGI application uses that of its server."""

    host: str = "127.0.0.1"
    port: int = 8545
    """Port; 0 is any free one."""
    workers: int = 1
    """Number of serving processes; if more than one, they follow a separate sequencer process."""
    transport: str = NATIVE
    """One of `TRANSPORTS`."""
    heartbeat_timeout: int = 3_000
    """Milliseconds without progress after which one of several processes is replaced; 0 for never."""
    busy_timeout: int | None = None
    """The same while the process computes, uses the disk or starts; None is twenty times as long."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None

    @property
    def tls(self) -> TlsFiles | None:
        """TLS files of the listener; None for plain HTTP."""
        if self.tls_cert is None or self.tls_key is None:
            return None
        return TlsFiles(self.tls_cert, self.tls_key, self.tls_client_ca)

    @property
    def scheme(self) -> str:
        """Scheme of its URL."""
        return "http" if self.tls is None else "https"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Log output to standard error; the table describes each field."""

    level: str = "warn"
    format: str = "text"
    slow: int = 1_000
    """Threshold of slow calls in milliseconds."""
    process: str | None = None


@dataclass(frozen=True, slots=True)
class CoreLimits:
    """Limits that the core enforces within one call, in bytes, ms and gas; `limit_rows` describes each field."""

    logs: int = 10_000
    log_time: int = 5_000
    filters: int = 1_000
    terms: int = 1_000
    flashblocks: int = 1_000
    flashblock_bytes: int = 8 * 1024 * 1024
    call_gas: int = 400_000_000
    call_time: int = 5_000
    simulate_gas: int = 50_000_000
    trace_bytes: int = 64 * 1024 * 1024
    slots: int = 1024
    pool_transactions: int = 20_000
    sync_time: int = 30_000


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Settings of the core's store, in bytes, blocks and transactions; the table describes those that are settings."""

    map: int = 1 << 40
    proofs: int = 1024
    recent: int = 32
    """Stored blocks that stay in memory."""
    backlog: int = 50_000
    """Sealed but not yet stored transactions above which the builder is throttled; each block counts as 500 more."""
    retention: int = 1024
    retention_bytes: int = 8 << 30
    scrub_rate: int = 8 << 20
    """Bytes a second; 0 for none."""
    scrub_pause: int = 24 * 60 * 60 * 1000
    """Milliseconds."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the node and of its endpoint. Raises `SettingsError`."""

    datadir: Path
    """Data directory: journal, lock and saved pool. Created if absent."""
    genesis: Path | None = None
    """Genesis file in geth's format; None uses the chain in the data directory."""
    dev: DevChain | None = None
    """Development chain, if `genesis` is None."""
    alloc: Mapping[str, Any] = field(default_factory=dict)
    """Additional entries of a development genesis, in the format of `alloc` in a genesis file."""
    block_time: int = 2000
    """Milliseconds between blocks, whole seconds."""
    step: int = 200
    """Milliseconds between pre-confirmed steps."""
    max_clock_lead: int = 5 * 60 * 1000
    """Milliseconds by which the newest block may be ahead of the clock; production pauses above it."""
    automine: bool = False
    """True if a development chain seals each submission at once."""
    revert_reason: str = REASON_IN_DATA
    """Field of an error that has the revert reason: `data`, or on a development chain `message` as well."""
    gas_limit: int | None = None
    """Gas limit that produced blocks move towards; None keeps that of the genesis."""
    safe_depth: int = 32
    """Blocks by which `safe` trails `latest`."""
    finalized_depth: int = 64
    """Blocks by which `finalized` trails `latest`, at least `safe_depth`."""
    fee_recipient: str = "0x" + "00" * 20
    extra_data: str = "0x" + b"foreseal".hex()
    produce: bool = True
    """True if the node produces blocks; otherwise it only serves."""
    sequencer_key: Path | None = None
    """File with the key that signs steps; None uses the one in `datadir`, which is created if absent."""
    new_sequencer_key: bool = False
    """Accept a missing or changed sequencer key: the steps of the data directory get a new signer."""
    drain_time: int = DRAIN_TIME
    """Milliseconds that calls in progress get to finish when the node stops."""
    drain_delay: int = 0
    """Milliseconds for which a stopping node still accepts calls while `/readyz` reports the stop."""
    memory: int | None = None
    """Bytes for data of the chain in all processes together; None for a default for each process."""
    max_free_memory: int = 16 << 20
    """Bytes of freed memory that the process retains for reuse."""
    public: bool = False
    """True if callers without an API key are public callers: see `AccessSettings`."""
    browsers: bool = False
    """True if pages of loopback origins may call (CORS) and all others are rejected, as in development."""
    explorer: bool | None = None
    """True if the endpoint serves the explorer at `/explorer`; None for development chains only."""
    explorer_listen: tuple[str, int] | None = None
    """Host and port (0: any free one) of a listener for the explorer; None serves it on the public listener."""
    development: bool = False
    """True if tests may change chain, clock and accounts, and the node signs for its own accounts."""
    admin: tuple[str, int] | Path | None = None
    """Loopback host and port (0: any free one), or Unix socket, of the admin listener; None opens none."""
    hosts: frozenset[str] = frozenset()
    """Accepted host names in addition to loopback ones; empty accepts any unless `browsers` is set, `*` accepts any."""
    pool: PoolOptions = field(default_factory=PoolOptions)
    store: StoreSettings = field(default_factory=StoreSettings)
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    engine: EngineOptions = field(default_factory=EngineOptions)
    listen: ListenSettings = field(default_factory=ListenSettings)
    log: LogSettings = field(default_factory=LogSettings)
    limits: Limits = field(default_factory=Limits)
    core_limits: CoreLimits = field(default_factory=CoreLimits)
    access: AccessSettings = field(default_factory=AccessSettings)
    public_limits: PublicLimits = field(default_factory=PublicLimits)
    public_core_limits: PublicCoreLimits = field(default_factory=PublicCoreLimits)

    def __post_init__(self) -> None:
        for setting in TABLE.values():
            try:
                setting.check(field_value(self, setting.path))
            except ValueError as error:
                raise SettingsError(str(error)) from None
        if self.automine and not self.development:
            raise SettingsError("automine needs a development chain", "node.automine")
        if self.revert_reason != REASON_IN_DATA and not self.development:
            raise SettingsError("revert_reason needs a development chain", "node.revert_reason")
        if self.explorer_listen is not None and self.explorer is False:
            raise SettingsError("explorer_listen needs the explorer", "server.explorer", "server.explorer_listen")
        if self.block_time < 1000 or self.block_time % 1000:
            raise SettingsError(
                f"block time must be a whole number of seconds, at least 1s, not {format_duration(self.block_time)}",
                "node.block_time",
            )
        if not MIN_STEP <= self.step <= self.block_time:
            raise SettingsError(
                f"step must be at least {MIN_STEP}ms and at most the block time of "
                f"{format_duration(self.block_time)}, not {format_duration(self.step)}",
                "node.step",
                "node.block_time",
            )
        if self.safe_depth > self.finalized_depth:
            raise SettingsError(
                f"the depth of safe must be at most that of finalized: {self.safe_depth} and {self.finalized_depth}",
                "node.safe_depth",
                "node.finalized_depth",
            )
        self.cluster.check_node(development=self.development)
        self.engine.check_node(self.cluster, development=self.development, produce=self.produce)
        listen = self.listen
        if listen.workers > 1 and listen.transport == ASGI:
            raise SettingsError(
                "several workers share one socket, which only the native transport can: use --transport native",
                "server.transport",
                "server.workers",
            )
        if (listen.tls_cert is None) != (listen.tls_key is None) or (listen.tls_client_ca and not listen.tls_cert):
            raise SettingsError("TLS needs both tls_cert and tls_key", *(f"server.{name}" for name in _TLS))

    @property
    def is_explorer_public(self) -> bool:
        """True if the public listener serves the explorer."""
        if self.explorer_listen is not None:
            return False
        return self.development if self.explorer is None else self.explorer

    @property
    def stop_time(self) -> float:
        """Longest time in seconds from a stop signal to the end of the process."""
        return (self.drain_delay + self.drain_time + STOP_MARGIN) / 1000

    @property
    def process_memory(self) -> int:
        """Bytes for data of the chain in one process: workers and the sequencer have equal parts."""
        workers = self.listen.workers
        if self.memory is None:
            return PROCESS_MEMORY if workers == 1 else WORKER_MEMORY
        return self.memory if workers == 1 else self.memory // (workers + 1)

    def scaled_entries(self, entries: int) -> int:
        """Return the number of entries of a table that has `entries` with the default memory: in proportion to it."""
        default = PROCESS_MEMORY if self.listen.workers == 1 else WORKER_MEMORY
        scaled = entries * self.process_memory // default
        return min(max(scaled, entries // MAX_SHRINK), entries * MAX_GROWTH)

    def tier_limits(self, tier: str) -> Limits:
        """Return the limits of a tier's callers."""
        return lower_limits(self.limits, self.public_limits) if tier == PUBLIC else self.limits

    def tier_filters(self, tier: str) -> int:
        """Return the total number of filters above which a tier's callers may create no more."""
        return self._tier_core_limits(tier).filters

    def tier_core_limits(self, tier: str) -> bytes:
        """Return the core's limits of a tier's callers, JSON."""
        return orjson.dumps({**asdict(self._tier_core_limits(tier)), "response": self.tier_limits(tier).response})

    def _tier_core_limits(self, tier: str) -> CoreLimits:
        return lower_limits(self.core_limits, self.public_core_limits) if tier == PUBLIC else self.core_limits

    def for_core(self, role: Mapping[str, str | int] | None = None) -> bytes:
        """Return the core's settings as JSON: times in ms, amounts in wei as hex, `chain` one of file, dev, stored.

        `role` is merged unchanged: the role in a node of several processes.
        """
        chain: dict[str, Any] = {"kind": "stored"}
        if self.genesis is not None:
            chain = {"kind": "file", "path": str(self.genesis)}
        elif self.dev is not None:
            chain = {
                "kind": "dev",
                "chain_id": self.dev.chain_id,
                "gas_limit": self.gas_limit,
                "mnemonic": self.dev.mnemonic,
                "accounts": self.dev.accounts,
                "balance": hex(self.dev.balance * WEI),
                "alloc": self.alloc,
                "timestamp": self.dev.genesis_time,
            }
        return orjson.dumps(
            {
                "datadir": str(self.datadir),
                "chain": chain,
                "block_time": self.block_time,
                "step": self.step,
                "max_clock_lead": self.max_clock_lead,
                "gas_limit": self.gas_limit,
                "safe_depth": self.safe_depth,
                "finalized_depth": self.finalized_depth,
                "fee_recipient": self.fee_recipient,
                "extra_data": self.extra_data,
                "produce": self.produce,
                "sequencer_key": None if self.sequencer_key is None else str(self.sequencer_key),
                "new_sequencer_key": self.new_sequencer_key,
                "development": self.development,
                "automine": self.automine,
                "revert_reason": self.revert_reason,
                "queue": self.limits.calls,
                "max_free_memory": self.max_free_memory,
                "pool": self.pool.for_core(public=self.public),
                "store": asdict(self.store),
                "memory": self.process_memory,
                "limits": {**asdict(self.core_limits), "response": self.limits.response},
                "log": {"levels": self.log.level, "form": self.log.format, "process": self.log.process, "server": True},
                **self._cluster_for_core(),
                **self.engine.for_core(),
                **(role or {}),
            }
        )

    def _cluster_for_core(self) -> dict[str, Any]:
        """Return the settings of a node that works with other machines; nothing for a node that works alone."""
        if self.cluster == ClusterOptions():
            return {}
        listen = self.listen
        rpc = self.cluster.rpc_url(listen.scheme, listen.host, listen.port)
        return {"cluster": self.cluster.for_core(rpc, self.step)}


SETTING_GROUPS: dict[str, type] = {
    "dev": DevChain,
    "pool": PoolOptions,
    "store": StoreSettings,
    "cluster": ClusterOptions,
    "engine": EngineOptions,
    "listen": ListenSettings,
    "log": LogSettings,
    "limits": Limits,
    "core_limits": CoreLimits,
    "access": AccessSettings,
    "public_limits": PublicLimits,
    "public_core_limits": PublicCoreLimits,
}
"""Parts of `Settings` by field name."""


def field_value(settings: Settings, path: str) -> Any:
    """Return the value of a field; None if its part is absent."""
    value: Any = settings
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


def default_value(setting: Setting) -> Any:
    """Return the default of a setting; None if there is none."""
    group, _, name = setting.path.rpartition(".")
    (definition,) = (entry for entry in fields(SETTING_GROUPS[group] if group else Settings) if entry.name == name)
    return None if definition.default is MISSING else definition.default
