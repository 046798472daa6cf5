"""The table of settings, the source of options, variables, file keys, `foreseal config` and the reference.

A new setting needs a row here, or a limit in `limit_rows`, and a field of `Settings` (or of a part of it) with its type
and default. A limit without a reason for operators to change it has a field alone.
"""

from foreseal.rpc.rate import MAX_CPU_RATE
from foreseal.server.logs import FORMATS
from foreseal.server.settings.cluster_rows import CLUSTER
from foreseal.server.settings.engine_rows import ENGINE
from foreseal.server.settings.kinds import (
    AdminAddress,
    Choice,
    Duration,
    FilePath,
    Flag,
    Folder,
    HexBytes,
    Integer,
    Levels,
    ListenerAddress,
    MethodNames,
    Names,
    Networks,
    OriginNames,
    RateKind,
    TextKind,
    ValueKind,
)
from foreseal.server.settings.limit_rows import LIMITS, PUBLIC
from foreseal.server.settings.pool_rows import POOL
from foreseal.server.settings.setting import REVERT_REASON_FIELDS, STARTED, Command, Setting
from foreseal.server.sockets.listening import TRANSPORTS

SECTIONS = {
    "node": "The chain and its block production.",
    "dev": "The development genesis: newest mainnet rules and funded accounts.",
    "pool": "Rules for submissions to the pool.",
    "store": "The store on disk, and the journal.",
    "cluster": "Other machines: quorum journal, standby, replicas. See [several machines](../operate/cluster.md).",
    "engine": "The Engine API for a driver. See [OP chains](../operate/optimism.md).",
    "server": "The public listener.",
    "log": "Log output on standard error.",
    "access": "Access control: tiers, methods and rates of callers.",
    "limits": "Limits for every caller.",
    "public": "Limits of callers without an API key: see [access control](../operate/access.md#limits).",
}
"""Sections of a file, each with its description."""

_DEVELOPMENT = frozenset[Command](("dev", "app"))
# Bound of a balance in ether: all accounts together have less than 256 bits of wei.
_MAX_ETHER = 10**50


def _node(name: str, kind: ValueKind, help: str, *, more: str = "", unset: str = "") -> Setting:
    return Setting(key=f"node.{name}", name=name, kind=kind, help=help, more=more, unset=unset, path=name)


def _dev(name: str, kind: ValueKind, help: str, *, unset: str = "", secret: bool = False) -> Setting:
    return Setting(
        key=f"dev.{name}",
        name=name,
        kind=kind,
        help=help,
        unset=unset,
        path=f"dev.{name}",
        commands=_DEVELOPMENT,
        secret=secret,
    )


def _store(name: str, kind: ValueKind, help: str, *, more: str = "") -> Setting:
    return Setting(key=f"store.{name}", name=f"store_{name}", kind=kind, help=help, more=more, path=f"store.{name}")


def _tls(name: str, help: str, *, unset: str) -> Setting:
    return Setting(
        key=f"server.{name}",
        name=name,
        kind=FilePath(),
        help=help,
        unset=unset,
        path=f"listen.{name}",
        commands=STARTED,
    )


def _access(name: str, kind: ValueKind, help: str, *, more: str = "", unset: str = "", option: str = "") -> Setting:
    path = f"access.{name}"
    return Setting(key=path, name=name, kind=kind, help=help, more=more, unset=unset, path=path, option=option)


_NODE = (
    _node(
        "datadir",
        Folder(),
        "Data directory of the chain; created if absent.",
        more="Only one process may use it at a time.",
        unset="required; `dev`: a temporary folder",
    ),
    _node(
        "genesis",
        FilePath(there=True),
        "Genesis file in geth's format; required for a new data directory.",
        unset="the chain in the data directory",
    ),
    Setting(
        key="node.dev",
        name="dev",
        kind=Flag(),
        help="Serve the development chain of `foreseal dev`.",
        more="Enables development methods and CORS.",
        path="development",
        commands=frozenset[Command](("app",)),
    ),
    Setting(
        key="node.produce",
        name="produce",
        kind=Flag(),
        help="Produce blocks; otherwise only serve.",
        path="produce",
        commands=frozenset[Command](("run", "app")),
    ),
    _node(
        "block_time",
        Duration(0, seconds=True),
        "Time between sealed blocks: whole seconds, with or without a unit.",
        more="On a development chain `0` enables `automine`.",
    ),
    _node("step", Duration(0), "Time between pre-confirmed steps, at least 10ms."),
    Setting(
        key="node.max_clock_lead",
        name="max_clock_lead",
        kind=Duration(0),
        help="Stop production while the newest block is ahead of the clock by more than this.",
        more="A smaller lead is worked off. See [the clock](../operate/operations.md#the-clock).",
        path="max_clock_lead",
        commands=frozenset[Command](("run", "app")),
    ),
    Setting(
        key="node.automine",
        name="automine",
        kind=Flag(),
        help="Seal each transaction in its own block immediately, instead of at intervals.",
        more="A receipt becomes visible when its block is `latest`. See also `evm_setAutomine`.",
        path="automine",
        commands=frozenset[Command](("dev", "app")),
    ),
    Setting(
        key="node.revert_reason",
        name="revert_reason",
        kind=Choice(REVERT_REASON_FIELDS),
        help="Field that has the revert reason in errors of `eth_call` and `eth_estimateGas`.",
        more="`message` adds the decoded reason to the message, as tests for hardhat or web3.js 1.x expect.",
        path="revert_reason",
        commands=frozenset[Command](("dev", "app")),
    ),
    _node("gas_limit", Integer(5000), "Target gas limit of produced blocks.", unset="the gas limit of the genesis"),
    _node("safe_depth", Integer(0, unit="blocks"), "Distance of the safe block from the latest block."),
    _node(
        "finalized_depth",
        Integer(0, unit="blocks"),
        "Distance of the finalized block from the latest block; at least the safe depth.",
    ),
    _node("fee_recipient", HexBytes(20, exact=True, metavar="ADDRESS"), "Fee recipient of produced blocks."),
    _node("extra_data", HexBytes(32), "extraData of produced blocks."),
    _node(
        "sequencer_key",
        FilePath(),
        "File with the sequencer key, which signs steps.",
        more="See [pre-confirmation receipts](../build/preconfirmation.md).",
        unset="`sequencer.key` in the data directory, created if absent",
    ),
    _node(
        "new_sequencer_key",
        Flag(),
        "Accept a missing or changed sequencer key; new steps have a new signer.",
        more="See [operations](../operate/operations.md).",
    ),
)

_DEV = (
    _dev("chain_id", Integer(), "Chain id."),
    _dev("mnemonic", TextKind(metavar="WORDS"), "Mnemonic of the funded accounts.", secret=True),
    _dev("accounts", Integer(0, 10_000), "Number of funded accounts."),
    _dev("balance", Integer(0, _MAX_ETHER, "ether"), "Balance of each account in ether."),
    _dev(
        "genesis_time",
        Integer(0),
        "Timestamp of the genesis block in Unix seconds; a fixed one makes hashes reproducible.",
        unset="the time of its creation",
    ),
    Setting(
        key="dev.payments",
        name="payments",
        kind=Flag(),
        help="Include the payment contracts and token balances in the genesis.",
        more="See [payment contracts](../merchants/contracts.md).",
        path="dev.payments",
        commands=frozenset[Command](("dev",)),
    ),
)

_STORE = (
    _store(
        "map",
        Integer(1 << 20, unit="bytes"),
        "Maximum size of the store; reserves address space, not disk.",
        more="See [the store](../operate/store.md).",
    ),
    _store(
        "proofs",
        Integer(1024, unit="blocks"),
        "Number of newest blocks with proofs.",
    ),
    _store("retention", Integer(0, unit="blocks"), "Number of stored blocks whose journal is retained."),
    _store(
        "retention_bytes",
        Integer(1 << 20, unit="bytes"),
        "Maximum size of the journal; above it, segments that are stored are removed earlier.",
    ),
    _store(
        "scrub_rate",
        Integer(0, unit="bytes"),
        "Read rate of the scrub of the store, in bytes per second; 0 disables it.",
        more="See [the store](../operate/store.md).",
    ),
)

_SERVER = (
    Setting(
        key="server.host",
        name="host",
        kind=TextKind(metavar="ADDRESS"),
        help="Address to listen on.",
        path="listen.host",
        commands=STARTED,
    ),
    Setting(
        key="server.port",
        name="port",
        kind=Integer(0, 65535),
        help="Port to listen on; 0 for any free port.",
        path="listen.port",
        commands=STARTED,
    ),
    Setting(
        key="server.workers",
        name="workers",
        kind=Integer(1, 256),
        help="Number of serving processes.",
        more="With more than one, a separate process produces blocks: see [processes](../operate/processes.md).",
        path="listen.workers",
        commands=frozenset[Command](("run",)),
    ),
    Setting(
        key="server.heartbeat_timeout",
        name="heartbeat_timeout",
        kind=Duration(0),
        help="Replace a process without heartbeat or progress for this long; 0 disables this.",
        more="Twenty times as long while it starts, computes or uses the disk. With several workers: see "
        "[processes](../operate/processes.md#wedged-processes).",
        path="listen.heartbeat_timeout",
        commands=frozenset[Command](("run",)),
    ),
    Setting(
        key="server.transport",
        name="transport",
        kind=Choice(TRANSPORTS),
        help="HTTP and WebSocket transport of the listener.",
        more="`asgi` uses granian and supports one process. See [transports](../operate/transports.md).",
        path="listen.transport",
        commands=STARTED,
    ),
    _tls("tls_cert", "Certificate chain in PEM; enables HTTPS and WSS.", unset="plain HTTP"),
    _tls("tls_key", "Private key of the certificate in PEM, without a password.", unset="required with a certificate"),
    _tls(
        "tls_client_ca",
        "CA certificates in PEM; clients must present a certificate that one of them signed.",
        unset="clients need no certificate",
    ),
    Setting(
        key="server.explorer",
        name="explorer",
        kind=Flag(),
        help="Serve the explorer, a web page for the chain, at /explorer.",
        more="See [the explorer](../operate/explorer.md).",
        path="explorer",
        unset="on in `dev`, off otherwise",
    ),
    Setting(
        key="server.explorer_listen",
        name="explorer_listen",
        kind=ListenerAddress(),
        help="Address of a listener for the explorer: HOST:PORT; the public listener then has no pages.",
        more="It answers the same calls as the public listener, under the same limits.",
        path="explorer_listen",
        unset="the explorer is on the public listener",
    ),
    Setting(
        key="server.drain_time",
        name="drain_time",
        kind=Duration(),
        help="Maximum time for calls in progress to finish when the node stops.",
        more="A second signal ends the wait.",
        path="drain_time",
    ),
    Setting(
        key="server.drain_delay",
        name="drain_delay",
        kind=Duration(0),
        help="Time that a stopping node accepts calls while /readyz returns 503.",
        path="drain_delay",
    ),
    Setting(
        key="server.memory",
        name="memory",
        kind=Integer(16 << 20, unit="bytes"),
        help="Memory for the chain, the pool and all caches; several processes share it.",
        more="See [memory](../operate/hardening.md#memory).",
        unset="512 MiB; with workers 320 MiB for each process",
        path="memory",
    ),
)

_ACCESS = (
    Setting(
        key="access.public",
        name="public",
        kind=Flag(),
        help="Run a public endpoint: callers without an API key have lower limits and no eth_getBlockReceipts.",
        more="HTTP 403, -32004. See [access control](../operate/access.md).",
        path="public",
    ),
    Setting(
        key="access.admin",
        name="admin",
        kind=AdminAddress(),
        help="Address of the admin listener: HOST:PORT or unix:PATH; only it serves admin methods.",
        more="A loopback address (port 0 for any free port), or a Unix socket that only its owner may use.",
        unset="no admin listener",
        path="admin",
    ),
    Setting(
        key="access.hosts",
        name="hosts",
        option="--allowed-host",
        kind=Names(),
        help="Accepted Host name in addition to loopback names; repeatable, * for any.",
        more="Separated by commas in the variable. On the admin listener * has no effect.",
        unset="any; `dev`: loopback names",
        path="hosts",
    ),
    _access(
        "origins",
        OriginNames(),
        "Allowed origin of web pages, such as https://app.example; repeatable.",
        more="Separated by commas in the variable. For browser extensions see [access control](../operate/access.md).",
        unset="none; `dev`: loopback origins",
        option="--allowed-origin",
    ),
    _access(
        "public_allow",
        MethodNames(),
        "Allowed method or prefix for public callers, such as eth_*; repeatable.",
        unset="all",
    ),
    _access(
        "public_deny",
        MethodNames(),
        "Denied method or prefix for public callers; repeatable.",
        more="Takes precedence over allowed methods.",
        unset="eth_getBlockReceipts, always denied",
    ),
    _access(
        "dedicated_allow", MethodNames(), "Allowed method or prefix for dedicated callers; repeatable.", unset="all"
    ),
    _access(
        "dedicated_deny",
        MethodNames(),
        "Denied method or prefix for dedicated callers; repeatable.",
        unset="none",
    ),
    _access(
        "public_rate",
        RateKind(),
        "Call rate of one public address; 0 for no limit.",
        more="Bursts have the calls of two seconds; HTTP 429, -32005.",
    ),
    _access(
        "dedicated_rate",
        RateKind(),
        "Call rate of one API key, or of one address if no key is required; 0 for no limit.",
    ),
    _access(
        "public_cpu",
        Integer(0, MAX_CPU_RATE),
        "Processor time of one public address in ms per second; 0 for no limit.",
        more="HTTP 429, -32005.",
    ),
    _access(
        "dedicated_cpu",
        Integer(0, MAX_CPU_RATE),
        "Processor time of one API key, or of one address if no key is required, in ms per second; 0 for no limit.",
    ),
    _access(
        "trusted_proxies",
        Networks(),
        "Address or network of a proxy whose X-Forwarded-For is trusted; repeatable.",
        more="Separated by commas in the variable.",
        unset="none",
        option="--trusted-proxy",
    ),
)

_LOG = (
    Setting(
        key="log.level",
        name="log",
        option="--log-level",
        kind=Levels(),
        help="Log level, optionally followed by levels of targets.",
        more="Example: `warn,foreseal_node=debug,foreseal.server=info`; targets are crates and Python modules.",
        path="log.level",
    ),
    Setting(
        key="log.format",
        name="log_format",
        kind=Choice(FORMATS),
        help="Log format: text for people, or one JSON object per line.",
        path="log.format",
    ),
    Setting(
        key="log.slow",
        name="log_slow",
        kind=Duration(),
        help="Log calls that run at least this long, without their parameters.",
        path="log.slow",
    ),
)

TABLE: dict[str, Setting] = {
    setting.key: setting
    for setting in (*_NODE, *_DEV, *POOL, *_STORE, *CLUSTER, *ENGINE, *_SERVER, *_LOG, *_ACCESS, *LIMITS, *PUBLIC)
}
"""All settings by key."""

UNGROUPED: dict[str, str] = {
    "FORESEAL_CONFIG": "the settings file",
}
"""Environment variables of a server that are not settings."""

INHERITED = frozenset(
    f"FORESEAL_{name}"
    for name in (
        "SHARED EXECUTION_APIS GETH_TRACES READS ARCHIVE SCHEDULES CRASHES LOGS FUZZ KILLS EVENTS SEED MUTANT URL KEY"
        " SEEDS WORKERS_TESTED WORKER_BLOCKS FOLLOWED FUZZ_TARGET PAYMENT_RUNS PAYMENT_SHRINK PAYMENT_KILLS PAIRINGS"
        " PAYMENT_ROUNDS EXTRAS CLIENT SERVICE BENCH_ANVIL BENCH_HARDHAT BENCH_GETH ETCD CLUSTER_FAULTS CONTAINER"
        " BENCH_EVM IMPORT WHEEL COMPOSE IMAGE OPTIMISM_BLOCKS QUIET_SECONDS"
    ).split()
)
"""Variables of the project's tests and tools, which the servers that they start inherit."""
