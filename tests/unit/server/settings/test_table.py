"""The table of settings: complete, without duplicate names, and consistent with the settings made from it."""

import re
import subprocess
from dataclasses import fields
from pathlib import Path

import orjson
import pytest

from foreseal.cli.dev import dev_command
from foreseal.cli.run import run_command
from foreseal.rpc.limits import Limits
from foreseal.server.settings import SECTIONS, TABLE, Settings, merge_sources
from foreseal.server.settings.limit_rows import FIXED_LIMITS
from foreseal.server.settings.model import SETTING_GROUPS, default_value
from foreseal.server.settings.public_limits import PUBLIC_SHARES, PublicCoreLimits, PublicLimits
from foreseal.server.settings.setting import Setting
from foreseal.server.settings.table import INHERITED, UNGROUPED
from repository import ROOT

# Fields without a setting: they follow from the kind of chain, or are constants that tests change.
INTERNAL = {
    "browsers",
    "alloc",
    "max_free_memory",
    "pool.max_gas",
    "store.recent",
    "store.backlog",
    "store.scrub_pause",
    "listen.busy_timeout",
    "log.process",
    "access.wrong_key_rate",
    "access.wrong_key_burst",
    "access.public_burst",
    "access.dedicated_burst",
    "access.public_cpu_burst",
    "access.dedicated_cpu_burst",
}


def test_every_field_has_a_row_and_every_row_a_field() -> None:
    parts = {f"{part}.{field.name}" for part, kind in SETTING_GROUPS.items() for field in fields(kind)}
    own = {field.name for field in fields(Settings)} - set(SETTING_GROUPS)
    assert len(parts) > 30
    rows = {setting.path for setting in TABLE.values()}
    fixed = {limit.row.path for limit in FIXED_LIMITS}
    public = {path for path in parts if path.startswith("public_")} - rows
    assert rows | fixed | public | INTERNAL == parts | own
    assert len(rows) + len(fixed) + len(public) + len(INTERNAL) == len(parts | own)


def test_settings_are_few() -> None:
    """A limit has a setting only if an operator has a reason to change it."""
    assert len(TABLE) <= 90


def test_every_public_limit_has_a_share_or_a_number() -> None:
    limits = [field for group in (PublicLimits, PublicCoreLimits) for field in fields(group)]
    assert {limit.name for limit in limits if limit.default is None} == set(PUBLIC_SHARES)


def test_defaults_of_public_limits_are_constant() -> None:
    settings = Settings(Path("x"))
    mib = 1 << 20
    assert settings.tier_limits("public") == Limits(
        body=2 * mib,
        batch=100,
        values=16_384,
        response=20 * mib,
        calls=512,
        caller_calls=16,
        connections=256,
        caller_connections=16,
        caller_filters=32,
        connection_calls=8,
        subscriptions=32,
        caller_subscriptions=64,
        outgoing_bytes=4 * mib,
        outgoing_frames=4096,
        address_connections=64,
        address_work=2000,
        connection_bytes=24 * mib,
        address_bytes=64 * mib,
    )
    assert orjson.loads(settings.tier_core_limits("public")) == {
        "logs": 5000,
        "log_time": 2000,
        "filters": 500,
        "terms": 1000,
        "flashblocks": 256,
        "flashblock_bytes": 2 * mib,
        "call_gas": 50_000_000,
        "call_time": 1000,
        "simulate_gas": 20_000_000,
        "trace_bytes": 8 * mib,
        "slots": 128,
        "pool_transactions": 2000,
        "sync_time": 10_000,
        "response": 20 * mib,
    }


def test_public_limits_follow_those_of_all_callers() -> None:
    settings = merge_sources("run", {}, {"max_batch": 50, "max_logs": 700, "max_response": 32}).settings(Path("x"))
    limits = settings.tier_limits("public")
    assert (limits.batch, limits.response) == (5, 10)
    core = orjson.loads(settings.tier_core_limits("public"))
    assert (core["logs"], core["trace_bytes"], core["response"]) == (700, 4, 10)
    assert Settings(Path("x"), limits=Limits(batch=3)).tier_limits("public").batch == 1
    assert Settings(Path("x"), limits=Limits(caller_calls=3)).tier_limits("public").caller_calls == 3


def test_bytes_in_flight_grow_with_the_largest_response() -> None:
    def limits(**options: int) -> Limits:
        return merge_sources("run", {}, options).settings(Path("x")).limits

    standard = Limits()
    for options in ({}, {"max_response": 1000, "max_body": 1000}):
        given = limits(**options)
        assert given.connection_bytes == standard.connection_bytes
        assert given.total_bytes == standard.total_bytes
    for option in ("max_response", "max_body"):
        given = limits(**{option: 2 * standard.response})
        assert given.connection_bytes == 2 * standard.connection_bytes
        assert given.address_bytes == 2 * standard.address_bytes
        assert given.total_bytes == 2 * standard.total_bytes


@pytest.mark.parametrize("of", ["key", "name", "flag", "variable", "path"])
def test_no_two_settings_share_a_name(of: str) -> None:
    names = [getattr(setting, of) for setting in TABLE.values()]
    assert len(set(names)) == len(names) > 40


@pytest.mark.parametrize("setting", TABLE.values(), ids=TABLE)
def test_row_has_every_column(setting: Setting) -> None:
    assert setting.section in SECTIONS
    assert setting.help.endswith(".")
    assert setting.commands
    default = default_value(setting)
    if default is None or default == frozenset():
        assert setting.unset, "it says what holds without a value"
        return
    assert setting.check(default) == default
    plain = setting.kind.plain(default)
    assert setting.kind.read(plain) == default
    assert setting.kind.parse(str(plain)) == default


@pytest.mark.parametrize("command", [dev_command, run_command], ids=["dev", "run"])
def test_the_options_of_a_command_are_its_settings(command: object) -> None:
    options = {option.name: option.opts[0] for option in command.params}  # type: ignore[attr-defined]
    assert options.pop("config") == "--config"
    assert options.pop("help_all") == "--help-all"
    name = command.name  # type: ignore[attr-defined]
    assert options == {setting.name: setting.flag for setting in TABLE.values() if name in setting.commands}


def test_every_environment_variable_of_the_project_is_declared() -> None:
    """A test's own variable must not stop the servers that the test starts."""
    told = subprocess.run(
        ["git", "grep", "-hoE", r"\bFORESEAL_[A-Z_]+\b", "--", "*.py", "*.rs", "*.mjs", "Makefile", "*.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    used = {name for name in told.split() if not name.endswith("_")}
    assert len(used) > 40
    # These variables occur in tests of unknown variables.
    unknown = {name for name in used if re.search("STPE|PORT_8545|NOTHING_LIKE", name)}
    known = {setting.variable for setting in TABLE.values()} | INHERITED | set(UNGROUPED)
    assert used - unknown <= known
