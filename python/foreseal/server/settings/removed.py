"""Settings of earlier versions: the error for each of their names, and what replaces it.

Imported only for an error.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Literal

from foreseal.server.settings.kinds import in_toml
from foreseal.server.settings.limit_rows import FIXED_LIMITS, FixedLimit
from foreseal.server.settings.model import default_value
from foreseal.server.settings.public_limits import PUBLIC_SHARES, PublicCoreLimits, PublicLimits
from foreseal.server.settings.setting import PREFIX
from foreseal.server.settings.table import TABLE

_REFERENCE = re.compile(r"\{(\w+\.\w+)\}")

Notation = Literal["key", "flag", "variable"]
"""Notations of a setting: key of a file, option of the command line, environment variable."""


@dataclass(frozen=True, slots=True)
class RemovedSetting:
    """A setting of an earlier version, with the same names as a `Setting`."""

    key: str
    name: str
    replacement: str
    """Sentence without a subject or a period; {section.name} is another setting."""

    @property
    def flag(self) -> str:
        """Option on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """Environment variable."""
        return PREFIX + self.name.upper()

    def describe(self, notation: Notation) -> str:
        """Return the error for its name in this notation, which other settings in the text have as well."""
        text = _REFERENCE.sub(lambda match: str(getattr(TABLE[match[1]], notation)), self.replacement)
        return f"{getattr(self, notation)} was removed: it {text}"


def describe_removed(name: str) -> str | None:
    """Return the error for the key, option or variable of a removed setting; None for any other name."""
    notation: Notation = "flag" if name.startswith("-") else "variable" if name.startswith(PREFIX) else "key"
    removed = next((setting for setting in REMOVED if getattr(setting, notation) == name), None)
    return removed.describe(notation) if removed else None


def fixed_value(limit: FixedLimit) -> str:
    """Return the value of a fixed limit for people."""
    value = default_value(limit.row)
    return limit.row.unset if value is None else _plain(limit, value)


def _plain(limit: FixedLimit, value: int) -> str:
    return in_toml(limit.row.kind.plain(value)).strip('"')


def _fixed_limits() -> Iterator[RemovedSetting]:
    for limit in FIXED_LIMITS:
        value = default_value(limit.row)
        if limit.is_derived:
            text = f"{limit.reason}; its default is {fixed_value(limit)}"
        elif value is None:
            text = f"has no separate limit, because {limit.reason}"
        else:
            text = f"is fixed at {fixed_value(limit)}, because {limit.reason}"
        yield RemovedSetting(limit.row.key, limit.row.name, text)


def _public_limits() -> Iterator[RemovedSetting]:
    for group in (PublicLimits, PublicCoreLimits):
        for field in fields(group):
            key = f"public.{field.name}"
            if key not in TABLE:
                yield RemovedSetting(
                    key, f"public_max_{field.name}", _public_text(field.name, getattr(group(), field.name))
                )


def _public_text(name: str, own: int | None) -> str:
    """Return the replacement of a public limit; `own` is its own number, if it is not a share."""
    general, share = f"limits.{name}", PUBLIC_SHARES.get(name)
    fixed = next((limit for limit in FIXED_LIMITS if limit.row.key == general), None)
    if fixed is None:
        return f"is {share} of {{{general}}}" if own is None else f"is {own}, or {{{general}}} if that is lower"
    if fixed.is_derived:
        return f"is {share} of the limit for all callers, which {fixed.reason}"
    value = PUBLIC_SHARES[name].apply(default_value(fixed.row)) if own is None else own
    return f"is fixed at {_plain(fixed, value)}, because {fixed.reason}"


_OTHERS = (
    RemovedSetting("store.recent", "store_recent", "is fixed at 32 blocks, because {server.memory} limits the memory"),
    RemovedSetting(
        "store.backlog",
        "store_backlog",
        "is fixed at 50000 transactions, because a longer backlog only delays the throttle of the builder",
    ),
    RemovedSetting(
        "store.scrub_pause",
        "store_scrub_pause",
        "is fixed at 24 hours, because {store.scrub_rate} limits the load of a scrub",
    ),
    RemovedSetting(
        "pool.max_gas", "pool_max_gas", "is fixed: 16777216 with {access.public}, otherwise that of the fork"
    ),
    RemovedSetting("cluster.max_age", "max_age", "is fixed at 2 seconds, or five times {node.step} if that is longer"),
    RemovedSetting("server.busy_timeout", "busy_timeout", "is twenty times {server.heartbeat_timeout}"),
    RemovedSetting(
        "server.max_free_memory",
        "max_free_memory",
        "is fixed at 16777216 bytes, because {server.memory} limits the memory of the node",
    ),
    RemovedSetting(
        "log.process", "log_process", "is the role of the process; {cluster.name} names the node to other machines"
    ),
    RemovedSetting(
        "access.wrong_key_rate",
        "wrong_key_rate",
        "is fixed at 1/s for an address; {access.trusted_proxies} distinguishes clients behind a proxy",
    ),
    RemovedSetting(
        "access.wrong_key_burst",
        "wrong_key_burst",
        "is fixed at 20 for an address; {access.trusted_proxies} distinguishes clients behind a proxy",
    ),
    RemovedSetting("access.public_burst", "public_burst", "is the calls of two seconds at {access.public_rate}"),
    RemovedSetting(
        "access.dedicated_burst", "dedicated_burst", "is the calls of two seconds at {access.dedicated_rate}"
    ),
    RemovedSetting(
        "access.public_cpu_burst",
        "public_cpu_burst",
        "is fixed at 2000 ms, because {access.public_cpu} limits the rate",
    ),
    RemovedSetting(
        "access.dedicated_cpu_burst",
        "dedicated_cpu_burst",
        "is fixed at 10000 ms, because {access.dedicated_cpu} limits the rate",
    ),
    RemovedSetting("access.buckets", "buckets", "is a part of {server.memory}"),
    RemovedSetting("access.caller_cache", "caller_cache", "is a part of {server.memory}"),
    RemovedSetting("access.head_cache", "head_cache", "is a part of {server.memory}"),
)

REMOVED: tuple[RemovedSetting, ...] = (*_OTHERS, *_fixed_limits(), *_public_limits())
"""All removed settings."""
