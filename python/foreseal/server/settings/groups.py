"""Groups of settings in help texts and in the reference, and the essential settings of each command."""

from collections.abc import Mapping

from foreseal.server.settings.setting import Command, Setting
from foreseal.server.settings.table import TABLE

GROUPS = {
    "Chain": "Data directory, genesis, blocks and steps.",
    "Development chain": "Mining, and the development genesis with its funded accounts.",
    "Pool": "Rules for submissions.",
    "Several machines": "Quorum journal, standby, replicas. See [several machines](../operate/cluster.md).",
    "Driver": "A consensus client that decides which blocks the node builds. See [OP chains](../operate/optimism.md).",
    "Network": "Listeners, accepted hosts and origins, proxies and processes.",
    "TLS": "Certificates of the public listener.",
    "Public access": "Rates and methods of each tier. See [access control](../operate/access.md).",
    "Limits": "Limits for every caller. See [access control](../operate/access.md#limits).",
    "Public limits": "Limits of callers without an API key. See [access control](../operate/access.md#limits).",
    "Store": "Store on disk and journal.",
    "Shutdown and memory": "Drain times, and memory. See `foreseal_cache_*` in [metrics](metrics.md).",
    "Logging": "Log output on standard error.",
}
"""Groups in the order of help texts, each with its description."""

_BY_SECTION = {
    "node": "Chain",
    "dev": "Development chain",
    "pool": "Pool",
    "store": "Store",
    "cluster": "Several machines",
    "engine": "Driver",
    "server": "Network",
    "log": "Logging",
    "access": "Public access",
    "limits": "Limits",
    "public": "Public limits",
}
_BY_KEY = {
    "node.automine": "Development chain",
    "node.revert_reason": "Development chain",
    "node.dev": "Development chain",
    "server.tls_cert": "TLS",
    "server.tls_key": "TLS",
    "server.tls_client_ca": "TLS",
    "server.drain_time": "Shutdown and memory",
    "server.drain_delay": "Shutdown and memory",
    "server.memory": "Shutdown and memory",
    "access.admin": "Network",
    "access.hosts": "Network",
    "access.origins": "Network",
    "access.trusted_proxies": "Network",
}

_BASICS = ("node.datadir", "node.genesis", "node.block_time", "node.step", "server.host", "server.port", "log.level")

ESSENTIAL: Mapping[Command, frozenset[str]] = {
    "dev": frozenset(
        (*_BASICS, "node.automine", "dev.chain_id", "dev.accounts", "dev.balance", "dev.mnemonic", "dev.payments")
    ),
    "run": frozenset(
        (
            *_BASICS,
            "node.produce",
            "server.workers",
            "server.tls_cert",
            "server.tls_key",
            "access.admin",
            "access.public",
            "access.origins",
        )
    ),
}
"""Keys of the settings that the first screen of a command's help shows."""


def find_group(setting: Setting) -> str:
    """Return the name of the group that contains the setting."""
    return _BY_KEY.get(setting.key) or _BY_SECTION[setting.section]


def grouped(command: Command | None = None) -> dict[str, list[Setting]]:
    """Return the settings of a command by group, in the order of the groups and of the table; None for all."""
    groups: dict[str, list[Setting]] = {name: [] for name in GROUPS}
    for setting in TABLE.values():
        if command is None or command in setting.commands:
            groups[find_group(setting)].append(setting)
    return {name: settings for name, settings in groups.items() if settings}
