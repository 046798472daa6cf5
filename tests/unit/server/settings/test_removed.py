"""Names of removed settings: each is an error that names what replaces it, in a file, a variable and an option."""

import re
from pathlib import Path

import click
import pytest

from foreseal.cli.run import run_command
from foreseal.server.settings import TABLE, SettingsError, merge_sources
from foreseal.server.settings.file import SettingsFile
from foreseal.server.settings.removed import REMOVED

_LIMITS = """
    depth values wait open caller_calls caller_connections connection_calls subscriptions
    caller_subscriptions outgoing_bytes outgoing_frames idle head_time body_rate address_work
    connection_bytes address_bytes total_bytes log_time filters caller_filters terms flashblocks
    flashblock_bytes simulate_gas trace_bytes slots pool_transactions sync_time
"""
_PUBLIC = """
    body batch values response calls connections caller_filters connection_calls subscriptions
    caller_subscriptions outgoing_bytes outgoing_frames address_connections address_work
    connection_bytes address_bytes log_time filters flashblocks flashblock_bytes simulate_gas
    trace_bytes slots pool_transactions sync_time
"""
NAMES = {
    **{f"limits.{name}": f"max_{name}" for name in _LIMITS.split()},
    **{f"public.{name}": f"public_max_{name}" for name in _PUBLIC.split()},
    "store.recent": "store_recent",
    "store.backlog": "store_backlog",
    "store.scrub_pause": "store_scrub_pause",
    "pool.max_gas": "pool_max_gas",
    "cluster.max_age": "max_age",
    "server.busy_timeout": "busy_timeout",
    "server.max_free_memory": "max_free_memory",
    "log.process": "log_process",
    "access.wrong_key_rate": "wrong_key_rate",
    "access.wrong_key_burst": "wrong_key_burst",
    "access.public_burst": "public_burst",
    "access.dedicated_burst": "dedicated_burst",
    "access.public_cpu_burst": "public_cpu_burst",
    "access.dedicated_cpu_burst": "dedicated_cpu_burst",
    "access.buckets": "buckets",
    "access.caller_cache": "caller_cache",
    "access.head_cache": "head_cache",
}
"""Every setting that a released version had, and this one has not: the key, and the base of the other names."""

# A name of a setting in one of the notations, a number that is fixed, or the absence of a limit.
_REPLACED = re.compile(r"was removed: it .*(\b\w+\.\w+\b|--[a-z]|FORESEAL_[A-Z]|fixed at \d|has no separate limit)")


def assert_names_its_replacement(message: str, name: str) -> None:
    assert f"{name} was removed: it " in message
    assert _REPLACED.search(message), message
    assert not re.search(r"[{}]|None", message), message


def test_every_removed_name_is_listed() -> None:
    assert {setting.key: setting.name for setting in REMOVED} == NAMES
    assert not set(NAMES) & set(TABLE)
    assert not set(NAMES.values()) & {setting.name for setting in TABLE.values()}


@pytest.mark.parametrize("key", NAMES)
def test_removed_key_names_its_replacement(tmp_path: Path, key: str) -> None:
    section, _, name = key.partition(".")
    file = tmp_path / "f.toml"
    file.write_text(f"[{section}]\n{name} = 1\n")
    (problem,) = SettingsFile(file, None).problems
    assert problem.startswith(f"{file}:2: ")
    assert_names_its_replacement(problem, key)


@pytest.mark.parametrize("name", NAMES.values())
def test_removed_variable_names_its_replacement(name: str) -> None:
    variable = "FORESEAL_" + name.upper()
    with pytest.raises(SettingsError) as caught:
        merge_sources("app", {variable: "1"})
    assert_names_its_replacement(str(caught.value), variable)


@pytest.mark.parametrize("name", NAMES.values())
def test_removed_option_names_its_replacement(name: str) -> None:
    option = "--" + name.replace("_", "-")
    for arguments in ([option, "1"], [f"{option}=1"]):
        with pytest.raises(click.UsageError) as caught:
            run_command.make_context("run", arguments)
        assert_names_its_replacement(caught.value.message, option)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("limits.depth", "limits.depth was removed: it is fixed at 64, because no request nests deeper"),
        ("public.batch", "public.batch was removed: it is 1/10 of limits.batch"),
        ("public.address_connections", "it is 64, or limits.address_connections if that is lower"),
        ("access.buckets", "access.buckets was removed: it is a part of server.memory"),
        ("limits.trace_bytes", "it grows with limits.response; its default is 67108864"),
        ("public.trace_bytes", "it is 1/8 of the limit for all callers, which grows with limits.response"),
    ],
)
def test_message_has_value_or_share(key: str, message: str) -> None:
    (setting,) = (setting for setting in REMOVED if setting.key == key)
    assert setting.describe("key").endswith(message)
