"""`foreseal config`: show, check, template; and the file for `foreseal run` and `foreseal dev`."""

import json
import re
from pathlib import Path

import httpx
import pytest

from command import foreseal
from foreseal.cli.main import run
from foreseal.server.settings import TABLE
from foreseal.server.settings.model import default_value
from live import live_node

TEXT = '[node]\nstep = "100ms"\n\n[limits]\nbatch = 3\n\n[server]\nport = 0\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "foreseal.toml"
    path.write_text(TEXT)
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, tuple[str, str]]:
    """Return value and origin of each setting, from the output of `config show`."""
    assert run(["config", "show", *map(str, arguments)]) == 0
    section, settings = "", {}
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        else:
            name, value, origin = re.split(r"\s{2,}", line.strip(), maxsplit=2)
            settings[f"{section}.{name}"] = (value, origin)
    return settings


def test_show_names_where_each_value_came_from(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESEAL_MAX_LOGS", "9")
    settings = shown(capsys, "--config", file, "--admin", "127.0.0.1:0")
    assert set(settings) == {key for key, setting in TABLE.items() if "run" in setting.commands}
    assert settings["node.step"] == ('"100ms"', f"{file}:2")
    assert settings["limits.batch"] == ("3", f"{file}:5")
    assert settings["limits.logs"] == ("9", "FORESEAL_MAX_LOGS")
    assert settings["access.admin"] == ('"127.0.0.1:0"', "--admin")
    assert settings["limits.call_time"] == ('"5s"', "default")
    assert settings["node.gas_limit"] == ("(the gas limit of the genesis)", "default")


def test_show_as_json_hides_secrets(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESEAL_MNEMONIC", "one two three")
    assert run(["config", "show", "--for", "dev", "--json", "--no-public"]) == 0
    text = capsys.readouterr().out
    assert "one two three" not in text
    settings = json.loads(text)
    assert settings["dev.mnemonic"] == {
        "value": "(hidden)",
        "origin": "variable",
        "name": "FORESEAL_MNEMONIC",
        "line": None,
    }
    assert settings["access.public"] == {"value": False, "origin": "flag", "name": "--public", "line": None}
    assert settings["node.datadir"]["value"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--accounts", "3"], "foreseal run has no option --accounts"),
        (["--for", "app", "--port", "3"], "the ASGI application has no option --port"),
        (["--step", "3s"], "step must be at least 10ms and at most the block time of 2s, not 3s"),
        (["--config", "/nowhere.toml"], "'/nowhere.toml' does not exist"),
    ],
)
def test_show_rejects_settings_that_the_command_rejects(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["config", "show", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_check_names_all_that_is_wrong(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "check", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: 3 settings, all valid\n"
    file.write_text("[limits]\nbodi = 1\nbatch = 0\n")
    with pytest.raises(SystemExit, match="2"):
        run(["config", "check", str(file)])
    assert capsys.readouterr().err.splitlines() == [
        f"foreseal: {file}:2: unknown setting limits.bodi: did you mean limits.body?",
        f"foreseal: {file}:3: limits.batch: the batch limit must be at least 1 and at most "
        "9223372036854775807, got 0; allowed: a whole number, at least 1",
    ]


@pytest.mark.parametrize(
    ("text", "arguments", "words"),
    [
        ("[limits\n", [], "foreseal.toml:1: Expected"),
        ("[node]\nstep = '3s'\n", [], "step must be at least 10ms"),
        ("[node]\ndev = true\n[server]\nport = 1\n", [], "no command accepts all of these settings"),
    ],
)
def test_check_reports_incompatible_settings(
    text: str, arguments: list[str], words: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(text)
    assert run(["config", "check", *arguments, str(file)]) == 2
    assert words in capsys.readouterr().err


def test_template_is_valid_also_with_every_default_written_out(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "template"]) == 0
    text = capsys.readouterr().out
    assert all(f"\n# {key.partition('.')[2]} = " in text for key in TABLE)
    file.write_text(text)
    assert run(["config", "check", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: 0 settings, all valid\n"
    # Remove the sections and settings that `run` lacks, and the settings without a default.
    text = re.sub(r"\[dev\].*?\[store\]", "[store]", text, flags=re.DOTALL)
    absent = [key for key, row in TABLE.items() if default_value(row) is None or "run" not in row.commands]
    without = "|".join(["dev", *(key.partition(".")[2] for key in absent if not key.startswith("dev."))])
    text = re.sub(rf"^# ({without}) = .*$", "", text, flags=re.MULTILINE)
    file.write_text(re.sub(r"^# (\w+ = .*)$", r"\1", text, flags=re.MULTILINE))
    settings = shown(capsys, "--config", file)
    assert sum(origin.startswith(str(file)) for _, origin in settings.values()) > 35
    assert {key: value for key, (value, _) in settings.items()} == {
        key: value for key, (value, _) in shown(capsys).items()
    }


def test_a_node_runs_with_its_file(file: Path) -> None:
    with live_node("--config", str(file)) as node:
        call = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"}
        answer = httpx.post(node.url, json=[call] * 4, timeout=60).json()
        assert answer["error"]["data"] == {"limit": "batch", "max": 3}


def test_a_server_with_an_unknown_variable_does_not_start(tmp_path: Path) -> None:
    ended = foreseal("run", "--datadir", tmp_path / "d", env={"FORESEAL_STPE": "1s"})
    assert ended.returncode == 2
    assert ended.stderr.startswith(
        "foreseal: unknown variable FORESEAL_STPE of foreseal run: did you mean FORESEAL_STEP?"
    )
    assert not (tmp_path / "d").exists()


def test_invalid_mnemonic_is_reported_with_its_source(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text('[dev]\nmnemonic = "not a mnemonic"\n')
    assert run(["dev", "--config", str(file)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"foreseal: dev.mnemonic ({file}:2): ")
    assert "not a mnemonic" not in told
