"""What a server can be told, from the command line or from FORESEAL_* variables, checked in one place."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import orjson

from foreseal.rpc import Limits
from foreseal.server.access import Hosts
from foreseal.server.address import parse_address
from foreseal.server.durations import format_duration, parse_duration

PUBLIC_FORBIDDEN = frozenset({"eth_getBlockReceipts"})
"""Methods that the public endpoint refuses with HTTP 403."""

LEAST_STEP = 10
MOST_DEPTH = 250
MOST = 2**63 - 1
"""Largest value of any number."""
WEI = 10**18


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class DevChain:
    """The development genesis: the newest mainnet rules and funded accounts."""

    chain_id: int = 31337
    mnemonic: str = "test test test test test test test test test test test junk"
    accounts: int = 20
    balance: int = 10_000
    """Ether of each account."""


@dataclass(frozen=True, slots=True)
class CoreLimits:
    """Bounds that the core keeps within one call; None is its own default."""

    logs: int | None = None
    """Most logs in the answer of one eth_getLogs, unless the range is a single block."""
    log_time: int | None = None
    """Milliseconds it may take, unless the range is a single block."""
    filters: int | None = None
    """Most filters that clients keep at once."""
    terms: int | None = None
    """Most addresses and topics in the filter of one subscription."""
    flashblocks: int | None = None
    """Most flashblocks in the answer of one foreseal_getFlashblocks."""
    flashblock_bytes: int | None = None
    """Bytes of flashblocks after which its answer ends."""
    call_gas: int | None = None
    """Most gas of one eth_call or estimate."""
    call_time: int | None = None
    """Milliseconds it, or one request for traces, may take."""
    simulate_gas: int | None = None
    """Most gas of all calls of one eth_simulateV1 together."""
    trace_bytes: int | None = None
    """Most bytes in the answer to one request for traces."""
    slots: int | None = None
    """Most storage slots of one eth_getProof or eth_getStorageValues."""
    pool_transactions: int | None = None
    """Most transactions in the pool for txpool_content and txpool_inspect to list it."""
    sync_time: int | None = None
    """Longest time that eth_sendRawTransactionSync may be asked to wait, ms."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How the core keeps its store; None is its own default."""

    map: int | None = None
    """Greatest size in bytes: address space, not disk."""
    proofs: int | None = None
    """Newest blocks that accounts and slots can be proved for, 1,024 at least."""
    recent: int | None = None
    """Blocks that stay in memory although they are stored."""
    backlog: int | None = None
    """Transactions that may be sealed and not yet stored before the builder takes less."""
    retention: int | None = None
    """Blocks that the journal is kept for after they are stored."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the node and of the endpoint in front of it. Raises `SettingsError`."""

    datadir: Path
    """Folder of the chain: journal, lock and saved pool. Made if absent."""
    genesis: Path | None = None
    """Genesis file in geth's format; None takes the chain that the folder holds."""
    dev: DevChain | None = None
    """A development chain, where `genesis` is None."""
    block_time: int = 2000
    """Milliseconds between blocks, whole seconds."""
    step: int = 200
    """Milliseconds between pre-confirmed steps."""
    gas_limit: int | None = None
    """Gas limit that produced blocks move towards; None keeps the genesis' own."""
    safe_depth: int = 32
    """Blocks by which `safe` trails `latest`."""
    finalized_depth: int = 64
    """Blocks by which `finalized` trails `latest`, at least those of `safe`."""
    fee_recipient: str = "0x" + "00" * 20
    extra_data: str = "0x" + b"foreseal".hex()
    produce: bool = True
    """Whether blocks are produced; otherwise the node only serves."""
    sequencer_key: Path | None = None
    """File with the key that signs steps; None takes the one in `datadir`, and makes it if there is none."""
    public: bool = False
    """Whether this is the public endpoint, which refuses some methods."""
    browsers: bool = False
    """Whether pages of any origin may call (CORS), as in development."""
    development: bool = False
    """Whether tests may change chain, clock and accounts, and the node signs for its own accounts."""
    admin: tuple[str, int] | None = None
    """Host and port (0: any free one) of the admin listener; None opens none."""
    hosts: frozenset[str] = frozenset()
    """Host names that requests may carry beside loopback ones; empty accepts any unless `browsers`, `*` accepts any."""
    store: StoreSettings = field(default_factory=StoreSettings)
    limits: Limits = field(default_factory=Limits)
    core_limits: CoreLimits = field(default_factory=CoreLimits)

    def __post_init__(self) -> None:
        if self.block_time < 1000 or self.block_time % 1000:
            raise SettingsError(
                f"block time must be a whole number of seconds, at least 1s, not {format_duration(self.block_time)}"
            )
        if not LEAST_STEP <= self.step <= self.block_time:
            raise SettingsError(
                f"step must be at least {LEAST_STEP}ms and at most the block time of "
                f"{format_duration(self.block_time)}, not {format_duration(self.step)}"
            )
        if self.limits.depth > MOST_DEPTH:
            raise SettingsError(f"the depth limit must be at most {MOST_DEPTH}, not {self.limits.depth}")
        for limits in (self.limits, self.core_limits):
            for limit in fields(limits):
                value = getattr(limits, limit.name)
                if value is not None and not 1 <= value <= MOST:
                    raise SettingsError(f"the {limit.name} limit must be at least 1 and at most {MOST}")
        for setting in fields(self.store):
            value = getattr(self.store, setting.name)
            if value is not None and not (setting.name != "retention") <= value <= MOST:
                raise SettingsError(f"the store's {setting.name} must be at least 1 and at most {MOST}, not {value}")
        if not 0 <= self.safe_depth <= self.finalized_depth <= MOST:
            raise SettingsError(
                f"the depth of safe must be at most that of finalized: {self.safe_depth} and {self.finalized_depth}"
            )
        if self.gas_limit is not None and self.gas_limit > MOST:
            raise SettingsError(f"the gas limit must be at most {MOST}")

    @property
    def forbidden(self) -> frozenset[str]:
        """Methods that are refused with HTTP 403."""
        return PUBLIC_FORBIDDEN if self.public else frozenset()

    def endpoint_hosts(self) -> Hosts:
        """Host names that requests to the endpoint may carry."""
        return Hosts(self.hosts, any_by_default=not self.browsers)

    def admin_hosts(self) -> Hosts:
        """Host names that requests to the admin listener may carry: its own as well."""
        own = frozenset({self.admin[0].lower()} if self.admin else ())
        return Hosts(self.hosts | own, any_by_default=False)

    def for_core(self) -> bytes:
        """The part that the core needs, JSON: times in ms, amounts in wei as hex, `chain` one of file, dev, stored."""
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
            }
        return orjson.dumps(
            {
                "datadir": str(self.datadir),
                "chain": chain,
                "block_time": self.block_time,
                "step": self.step,
                "gas_limit": self.gas_limit,
                "safe_depth": self.safe_depth,
                "finalized_depth": self.finalized_depth,
                "fee_recipient": self.fee_recipient,
                "extra_data": self.extra_data,
                "produce": self.produce,
                "sequencer_key": None if self.sequencer_key is None else str(self.sequencer_key),
                "development": self.development,
                "queue": self.limits.calls,
                "store": asdict(self.store),
                "limits": asdict(self.core_limits),
            }
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Settings of a server that granian or uvicorn started. Raises `SettingsError` naming the variable."""
        given = {
            variable: _parse(variable, parse, environment[variable])
            for variable, parse in VARIABLES.items()
            if environment.get(variable)
        }
        if "FORESEAL_DATADIR" not in given:
            raise SettingsError("FORESEAL_DATADIR is not set: name the folder that holds the chain")
        values = {_field(variable): value for variable, value in given.items()}
        values["dev"] = DevChain() if values.get("dev") else None
        values["browsers"] = values["development"] = values["dev"] is not None
        return cls(**split_limits(values))


def split_limits(values: dict[str, Any]) -> dict[str, Any]:
    """`values` with its `max_*` entries put together to the two kinds of limits, and its `store_*` ones."""
    rest = {name: value for name, value in values.items() if not name.startswith(("max_", "store_"))}
    kept = {name.removeprefix("store_"): value for name, value in values.items() if name.startswith("store_")}
    rest["store"] = StoreSettings(**kept)
    given = {name.removeprefix("max_"): value for name, value in values.items() if name.startswith("max_")}
    for name, kind in (("limits", Limits), ("core_limits", CoreLimits)):
        known = {limit.name for limit in fields(kind)}
        rest[name] = kind(**{limit: value for limit, value in given.items() if limit in known})
    return rest


def _field(variable: str) -> str:
    return variable.removeprefix("FORESEAL_").lower()


def _parse(variable: str, parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise SettingsError(f"{variable}: {error}") from None


def _flag(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in text.split(",") if name.strip())


VARIABLES: dict[str, Callable[[str], Any]] = {
    "FORESEAL_DATADIR": Path,
    "FORESEAL_GENESIS": Path,
    "FORESEAL_DEV": _flag,
    "FORESEAL_BLOCK_TIME": parse_duration,
    "FORESEAL_STEP": parse_duration,
    "FORESEAL_GAS_LIMIT": _whole,
    "FORESEAL_SAFE_DEPTH": _whole,
    "FORESEAL_FINALIZED_DEPTH": _whole,
    "FORESEAL_FEE_RECIPIENT": str,
    "FORESEAL_EXTRA_DATA": str,
    "FORESEAL_PRODUCE": _flag,
    "FORESEAL_SEQUENCER_KEY": Path,
    "FORESEAL_PUBLIC": _flag,
    "FORESEAL_ADMIN": parse_address,
    "FORESEAL_HOSTS": _names,
    "FORESEAL_STORE_MAP": _whole,
    "FORESEAL_STORE_PROOFS": _whole,
    "FORESEAL_STORE_RECENT": _whole,
    "FORESEAL_STORE_BACKLOG": _whole,
    "FORESEAL_STORE_RETENTION": _whole,
    "FORESEAL_MAX_BODY": _whole,
    "FORESEAL_MAX_BATCH": _whole,
    "FORESEAL_MAX_DEPTH": _whole,
    "FORESEAL_MAX_RESPONSE": _whole,
    "FORESEAL_MAX_CALLS": _whole,
    "FORESEAL_MAX_WAIT": parse_duration,
    "FORESEAL_MAX_CONNECTIONS": _whole,
    "FORESEAL_MAX_CONNECTION_CALLS": _whole,
    "FORESEAL_MAX_SUBSCRIPTIONS": _whole,
    "FORESEAL_MAX_OUTGOING_BYTES": _whole,
    "FORESEAL_MAX_OUTGOING_FRAMES": _whole,
    "FORESEAL_MAX_IDLE": parse_duration,
    "FORESEAL_MAX_LOGS": _whole,
    "FORESEAL_MAX_LOG_TIME": parse_duration,
    "FORESEAL_MAX_FILTERS": _whole,
    "FORESEAL_MAX_TERMS": _whole,
    "FORESEAL_MAX_FLASHBLOCKS": _whole,
    "FORESEAL_MAX_FLASHBLOCK_BYTES": _whole,
    "FORESEAL_MAX_CALL_GAS": _whole,
    "FORESEAL_MAX_CALL_TIME": parse_duration,
    "FORESEAL_MAX_SIMULATE_GAS": _whole,
    "FORESEAL_MAX_TRACE_BYTES": _whole,
    "FORESEAL_MAX_SLOTS": _whole,
    "FORESEAL_MAX_POOL_TRANSACTIONS": _whole,
    "FORESEAL_MAX_SYNC_TIME": parse_duration,
}
"""Every variable that `Settings.from_environment` reads, with its parser."""
