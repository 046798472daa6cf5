"""Typed settings: durations, variables, and conflicts."""

from pathlib import Path

import orjson
import pytest

from foreseal.server import DevChain, Settings, SettingsError
from foreseal.server.settings import from_environment
from foreseal.server.settings.durations import format_duration, parse_duration
from foreseal.server.settings.model import ListenSettings


@pytest.mark.parametrize(("text", "ms"), [("200ms", 200), ("2s", 2000), ("1m", 60_000), (" 5s ", 5000), ("0s", 0)])
def test_durations_are_parsed(text: str, ms: int) -> None:
    assert parse_duration(text) == ms
    assert parse_duration(format_duration(ms)) == ms


@pytest.mark.parametrize("text", ["", "2", "2 s", "1.5s", "-1s", "2h", "s", "2S", "9999999999s", "\u0662s"])
def test_invalid_duration_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="write a whole number and its unit, such as 200ms or 2s"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"block_time": 500}, "block time must be a whole number of seconds, at least 1s, not 500ms"),
        ({"block_time": 1500}, "block time must be a whole number of seconds, at least 1s, not 1500ms"),
        ({"step": 9}, "step must be at least 10ms and at most the block time of 2s, not 9ms"),
        ({"step": 2001}, "step must be at least 10ms and at most the block time of 2s, not 2001ms"),
    ],
)
def test_inconsistent_times_are_rejected(values: dict[str, int], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Settings(Path("x"), **values)
    assert Settings(Path("x"), block_time=1000, step=1000).step == 1000


ENVIRONMENT = {
    "FORESEAL_DATADIR": "/d",
    "FORESEAL_GENESIS": "/g.json",
    "FORESEAL_BLOCK_TIME": "3s",
    "FORESEAL_STEP": "100ms",
    "FORESEAL_MAX_CLOCK_LEAD": "90s",
    "FORESEAL_GAS_LIMIT": "30000000",
    "FORESEAL_SAFE_DEPTH": "3",
    "FORESEAL_FINALIZED_DEPTH": "4",
    "FORESEAL_FEE_RECIPIENT": "0x" + "11" * 20,
    "FORESEAL_EXTRA_DATA": "0x01",
    "FORESEAL_PRODUCE": "no",
    "FORESEAL_SEQUENCER_KEY": "/k",
    "FORESEAL_PUBLIC": "1",
    "FORESEAL_ADMIN": "[::1]:8546",
    "FORESEAL_HOSTS": "a.example, B.example",
    "FORESEAL_POOL_MIN_TIP": "7",
    "FORESEAL_STORE_MAP": "2000000",
    "FORESEAL_STORE_PROOFS": "2048",
    "FORESEAL_STORE_RETENTION": "0",
    "FORESEAL_STORE_RETENTION_BYTES": "5000000",
    "FORESEAL_MEMORY": "100000000",
    "FORESEAL_STORE_SCRUB_RATE": "0",
    "FORESEAL_NEW_SEQUENCER_KEY": "1",
    "FORESEAL_DRAIN_TIME": "20s",
    "FORESEAL_DRAIN_DELAY": "4s",
    "FORESEAL_LOG": "warn,foreseal_node=debug",
    "FORESEAL_LOG_FORMAT": "json",
    "FORESEAL_LOG_SLOW": "3s",
    "FORESEAL_MAX_BODY": "1000",
    "FORESEAL_MAX_BATCH": "10",
    "FORESEAL_MAX_RESPONSE": "2000",
    "FORESEAL_MAX_CALLS": "3",
    "FORESEAL_MAX_CONNECTIONS": "21",
    "FORESEAL_MAX_LOGS": "5",
    "FORESEAL_MAX_CALL_GAS": "21007",
    "FORESEAL_MAX_CALL_TIME": "8s",
    "FORESEAL_MAX_ADDRESS_CONNECTIONS": "22",
    "FORESEAL_PUBLIC_MAX_CALLER_CALLS": "4",
    "FORESEAL_PUBLIC_MAX_CALLER_CONNECTIONS": "5",
    "FORESEAL_PUBLIC_MAX_LOGS": "3",
    "FORESEAL_PUBLIC_MAX_CALL_GAS": "21003",
    "FORESEAL_PUBLIC_MAX_CALL_TIME": "4s",
}


def test_every_variable_is_read() -> None:
    settings = from_environment(ENVIRONMENT)
    assert settings.hosts == {"a.example", "b.example"}
    assert settings.admin == ("::1", 8546)
    assert settings.public
    limits = settings.limits
    assert (limits.body, limits.batch, limits.response, limits.calls) == (1000, 10, 2000, 3)
    assert (limits.connections, limits.address_connections) == (21, 22)
    public = settings.tier_limits("public")
    assert (public.caller_calls, public.caller_connections) == (4, 5)
    core = orjson.loads(settings.tier_core_limits("public"))
    assert (core["logs"], core["call_gas"], core["call_time"]) == (3, 21003, 4000)
    assert orjson.loads(settings.for_core()) == {
        "datadir": "/d",
        "chain": {"kind": "file", "path": "/g.json"},
        "block_time": 3000,
        "step": 100,
        "max_clock_lead": 90_000,
        "gas_limit": 30000000,
        "safe_depth": 3,
        "finalized_depth": 4,
        "fee_recipient": "0x" + "11" * 20,
        "extra_data": "0x01",
        "produce": False,
        "sequencer_key": "/k",
        "new_sequencer_key": True,
        "development": False,
        "automine": False,
        "revert_reason": "data",
        "queue": 3,
        "max_free_memory": 16 << 20,
        "pool": {"min_tip": 7, "max_gas": 1 << 24},
        "store": {
            "map": 2_000_000,
            "proofs": 2048,
            "recent": 32,
            "backlog": 50_000,
            "retention": 0,
            "retention_bytes": 5_000_000,
            "scrub_rate": 0,
            "scrub_pause": 86_400_000,
        },
        "memory": 100_000_000,
        "limits": {
            "logs": 5,
            "log_time": 5000,
            "filters": 1000,
            "terms": 1000,
            "flashblocks": 1000,
            "flashblock_bytes": 8 << 20,
            "call_gas": 21007,
            "call_time": 8000,
            "simulate_gas": 50_000_000,
            "trace_bytes": 2000,
            "slots": 1024,
            "pool_transactions": 20_000,
            "sync_time": 30_000,
            "response": 2000,
        },
        "log": {"levels": "warn,foreseal_node=debug", "form": "json", "process": None, "server": True},
    }
    assert settings.log.slow == 3000
    assert (settings.drain_time, settings.drain_delay) == (20_000, 4_000)


@pytest.mark.parametrize(
    ("changes", "pool"),
    [
        ({}, {"min_tip": 0, "max_gas": None}),
        ({"FORESEAL_PUBLIC": "1"}, {"min_tip": 1_000_000, "max_gas": 1 << 24}),
        ({"FORESEAL_PUBLIC": "1", "FORESEAL_POOL_MIN_TIP": "0"}, {"min_tip": 0, "max_gas": 1 << 24}),
    ],
)
def test_only_a_public_node_has_rules_of_the_pool(changes: dict[str, str], pool: dict[str, int | None]) -> None:
    settings = from_environment({"FORESEAL_DATADIR": "/d"} | changes)
    assert orjson.loads(settings.for_core())["pool"] == pool


def test_the_development_chain_reaches_the_core_in_wei() -> None:
    settings = from_environment({"FORESEAL_DATADIR": "/d", "FORESEAL_DEV": "true"})
    chain = orjson.loads(settings.for_core())["chain"]
    assert (chain["kind"], chain["chain_id"], chain["accounts"]) == ("dev", 31337, 20)
    assert int(chain["balance"], 16) == 10_000 * 10**18
    assert settings.browsers
    assert settings.development
    assert orjson.loads(settings.for_core())["development"] is True
    assert settings.dev == DevChain()


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("FORESEAL_STEP", "fast", "FORESEAL_STEP: 'fast' is not a duration"),
        ("FORESEAL_PUBLIC", "maybe", "FORESEAL_PUBLIC: expected true or false, got 'maybe'"),
        ("FORESEAL_SAFE_DEPTH", "65", "the depth of safe must be at most that of finalized: 65 and 64"),
        ("FORESEAL_ADMIN", "8546", "FORESEAL_ADMIN: '8546' is not an address"),
        ("FORESEAL_MAX_BATCH", "-1", "FORESEAL_MAX_BATCH: the batch limit must be at least 1 .*, got -1"),
        ("FORESEAL_MAX_BATCH", "0", "the batch limit must be at least 1"),
        (
            "FORESEAL_ACCOUNTS",
            "10001",
            "FORESEAL_ACCOUNTS: the accounts must be at least 0 and at most 10000, got 10001",
        ),
    ],
)
def test_invalid_variable_is_named(variable: str, value: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        from_environment({"FORESEAL_DATADIR": "/d", variable: value})


def test_reason_in_the_message_needs_a_development_chain() -> None:
    with pytest.raises(SettingsError, match="revert_reason needs a development chain"):
        Settings(Path("x"), revert_reason="message")
    settings = from_environment({"FORESEAL_DATADIR": "/d", "FORESEAL_DEV": "1", "FORESEAL_REVERT_REASON": "message"})
    assert orjson.loads(settings.for_core())["revert_reason"] == "message"


def test_processes_have_equal_parts_of_the_memory() -> None:
    def memory(workers: int, given: int | None) -> int:
        return Settings(Path("d"), memory=given, listen=ListenSettings(workers=workers)).process_memory

    assert memory(1, 90_000_000) == 90_000_000
    # Two workers and the sequencer.
    assert memory(2, 90_000_000) == 30_000_000
    assert (memory(1, None), memory(2, None)) == (512 << 20, 320 << 20)


def test_tables_of_callers_follow_the_memory() -> None:
    def entries(memory: int | None, workers: int = 1) -> int:
        return Settings(Path("d"), memory=memory, listen=ListenSettings(workers=workers)).scaled_entries(65_536)

    assert (
        entries(None) == entries(None, workers=4) == entries(512 << 20) == entries(5 * (320 << 20), workers=4) == 65_536
    )
    assert entries(1 << 30) == 131_072
    assert entries(16 << 20) == entries(16 << 20, workers=4) == 2048
    assert entries(1 << 60) == 1 << 24
