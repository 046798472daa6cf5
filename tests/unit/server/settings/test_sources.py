"""Merging of file, variables and options: precedence, and the errors of conflicts."""

from pathlib import Path
from typing import Any

import pytest

from foreseal.server.settings import SettingsError, from_environment, merge_sources
from foreseal.server.settings.setting import Command


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "f.toml"
    path.write_text(text)
    return path


def test_the_later_source_wins(tmp_path: Path) -> None:
    text = '[node]\ndatadir = "/d"\nstep = "1s"\nblock_time = "4s"\n[limits]\nbatch = 7\n[access]\npublic = true\n'
    file = written(tmp_path, text)
    environment = {"FORESEAL_STEP": "500ms", "FORESEAL_BLOCK_TIME": "6s"}
    options = {"step": 250, "public": False, "port": 0}
    values = merge_sources("run", environment, options, file)
    origins = {key: str(each.origin) for key, each in values.values.items() if not each.by_default}
    assert origins == {
        "node.datadir": f"{file}:2",
        "node.step": "--step",
        "node.block_time": "FORESEAL_BLOCK_TIME",
        "limits.batch": f"{file}:6",
        "access.public": "--public",
        "server.port": "--port",
    }
    settings = values.settings()
    assert (settings.step, settings.block_time, settings.limits.batch) == (250, 6000, 7)
    assert (settings.public, settings.listen.port, settings.datadir) == (False, 0, Path("/d"))


@pytest.mark.parametrize(
    ("command", "options", "connections"),
    [
        ("dev", {}, 16_384),
        ("dev", {"max_address_connections": 20}, 20),
        ("app", {}, 1_024),
        ("app", {"dev": True}, 16_384),
        ("run", {}, 1_024),
    ],
)
def test_only_a_development_chain_allows_one_address_all_connections(
    command: Command, options: dict[str, Any], connections: int
) -> None:
    settings = merge_sources(command, {}, options).settings(Path("/d"))
    assert settings.limits.address_connections == connections


def test_option_overrides_the_file_named_by_a_variable(tmp_path: Path) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text('[node]\ndatadir = "/one"\n')
    other.write_text('[node]\ndatadir = "/other"\n')
    environment = {"FORESEAL_CONFIG": str(one)}
    assert from_environment(environment).datadir == Path("/one")
    assert merge_sources("run", environment, {}, other).settings().datadir == Path("/other")
    assert merge_sources("run", {"FORESEAL_CONFIG": ""}, {}).values["node.datadir"].by_default
    with pytest.raises(SettingsError, match=r"cannot read the settings in /nowhere.toml"):
        from_environment({"FORESEAL_CONFIG": "/nowhere.toml"})


@pytest.mark.parametrize(
    ("command", "environment", "words"),
    [
        ("run", {"FORESEAL_STPE": "1s"}, "unknown variable FORESEAL_STPE of foreseal run: did you mean FORESEAL_STEP?"),
        ("app", {"FORESEAL_STPE": "1s"}, "unknown variable FORESEAL_STPE of the ASGI application: did you mean"),
        ("dev", {"FORESEAL_PORT_8545_TCP": "x"}, "unknown variable FORESEAL_PORT_8545_TCP of foreseal dev"),
        ("run", {"FORESEAL_NOTHING_LIKE_IT_ZZZZ": "x"}, "`foreseal config template` shows all settings"),
        (
            "run",
            {"FORESEAL_TRUSTED_PROXIES": "10.0.0.0/8,0.0.0.0/0"},
            "'0.0.0.0/0' would trust every client",
        ),
        ("run", {"FORESEAL_TRUSTED_PROXIES": "10.0.0.0/33"}, "'10.0.0.0/33' is not an address or network"),
        (
            "run",
            {"FORESEAL_PORT": "tcp://10.0.0.1:8545"},
            "FORESEAL_PORT: expected a whole number, got 'tcp://10.0.0.1:8545'",
        ),
        ("run", {"FORESEAL_DEV": "1"}, "FORESEAL_DEV is a setting of the ASGI application, not of foreseal run"),
        ("run", {"FORESEAL_CHAIN_ID": "1"}, "FORESEAL_CHAIN_ID is a setting of foreseal dev and the ASGI application"),
        ("app", {"FORESEAL_PORT": "1"}, "FORESEAL_PORT is a setting of foreseal dev and foreseal run, not of the ASGI"),
        ("dev", {"FORESEAL_PRODUCE": "0"}, "FORESEAL_PRODUCE is a setting of foreseal run and the ASGI application"),
    ],
)
def test_unknown_variable_is_rejected(command: Command, environment: dict[str, str], words: str) -> None:
    with pytest.raises(SettingsError) as told:
        merge_sources(command, environment)
    assert words in str(told.value)


def test_foreign_and_empty_variables_are_ignored() -> None:
    names = "FORESEAL_SHARED FORESEAL_KEY FORESEAL_SEED FORESEALED FORESEAL".split()
    assert not merge_sources("run", dict.fromkeys(names, "x") | {"FORESEAL_STEP": ""}).section_values("node")


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("[node]\nstep = '3s'", {}, "step must be at least 10ms and at most the block time of 2s, not 3s: node.step ("),
        ("[node]\nblock_time = '1s'", {"step": 1100}, "of 1s, not 1100ms: node.block_time ("),
        ("[node]\nsafe_depth = 70", {}, "that of finalized: 70 and 64: node.safe_depth ("),
    ],
)
def test_conflicting_settings_name_their_sources(
    tmp_path: Path, text: str, options: dict[str, Any], words: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(SettingsError) as told:
        merge_sources("run", {"FORESEAL_DATADIR": "/d"}, options, file).settings()
    assert words in str(told.value)
    assert str(told.value).endswith(f"({file}:2)")


def test_development_genesis_conflicts_with_another_genesis(tmp_path: Path) -> None:
    file = written(tmp_path, "[dev]\nchain_id = 5\n")
    with pytest.raises(SettingsError) as told:
        merge_sources("dev", {"FORESEAL_GENESIS": "/g.json"}, {"accounts": 1}, file).settings(tmp_path)
    assert str(told.value) == (
        f"--accounts and dev.chain_id ({file}:2) configure the development genesis and conflict with FORESEAL_GENESIS"
    )
    with pytest.raises(
        SettingsError, match="FORESEAL_ACCOUNTS configures the development genesis and requires FORESEAL_DEV"
    ):
        from_environment({"FORESEAL_DATADIR": "/d", "FORESEAL_ACCOUNTS": "1"})


def test_application_uses_the_configured_development_genesis() -> None:
    settings = from_environment({"FORESEAL_DATADIR": "/d", "FORESEAL_DEV": "1", "FORESEAL_CHAIN_ID": "5"})
    assert settings.dev is not None
    assert (settings.dev.chain_id, settings.dev.accounts) == (5, 20)


def test_run_never_has_development_methods(tmp_path: Path) -> None:
    settings = merge_sources("run", {}, {"datadir": tmp_path}).settings()
    assert (settings.dev, settings.development, settings.browsers) == (None, False, False)
    settings = merge_sources("dev", {}).settings(tmp_path)
    assert (settings.development, settings.browsers) == (True, True)


def test_the_first_problem_is_reported_with_the_number_of_others(tmp_path: Path) -> None:
    file = written(tmp_path, "[limits]\nbody = 0\nbatch = 0\ndepth = 0\n")
    with pytest.raises(
        SettingsError, match=r"limits.body: the body limit must be .* \(and 2 more: `foreseal config check`\)"
    ):
        merge_sources("run", {}, {}, file)
