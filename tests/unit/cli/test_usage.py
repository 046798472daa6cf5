"""Help texts, and usage errors: exit code 2 and one clear line."""

from importlib.metadata import version
from pathlib import Path

import click
import pytest

from foreseal.cli.main import foreseal, run

CONTEXT = click.Context(foreseal)
COMMANDS = [
    ["dev"],
    ["run"],
    ["cluster"],
    ["cluster", "dev"],
    ["cluster", "forget"],
    ["cluster", "status"],
    ["handover"],
    ["top"],
    ["genesis"],
    ["import"],
    ["export"],
    ["config"],
    ["config", "show"],
    ["config", "check"],
    ["config", "template"],
    ["completion"],
    ["keys"],
    ["keys", "create"],
    ["keys", "list"],
    ["keys", "revoke"],
    ["pay"],
    ["pay", "check"],
    ["pay", "facilitator"],
    ["pay", "keys"],
    ["pay", "keys", "create"],
    ["pay", "keys", "list"],
    ["pay", "keys", "revoke"],
    ["pay", "serve"],
    ["pay", "spent"],
    ["pay", "template"],
    ["backup"],
    ["restore"],
    ["db"],
    ["db", "stats"],
    ["db", "verify"],
    ["journal"],
    ["journal", "check"],
    ["journal", "export"],
    ["journal", "import"],
    ["journal", "repair"],
    ["journal", "show"],
    ["verify-receipt"],
    ["statetest"],
    ["blocktest"],
    ["bench"],
]


def test_command_list_is_complete() -> None:
    assert set(foreseal.list_commands(CONTEXT)) == {command[0] for command in COMMANDS}


@pytest.mark.parametrize("command", [[], *COMMANDS], ids=" ".join)
def test_every_command_has_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Usage: foreseal")
    assert len(text.split()) > 15
    assert all(len(line) <= 100 for line in text.splitlines())


def test_dev_has_its_documented_options() -> None:
    options = "host port datadir genesis chain-id block-time step gas-limit mnemonic accounts balance public"
    dev = foreseal.get_command(CONTEXT, "dev")
    assert dev
    known = {name for parameter in dev.params for name in parameter.opts}
    assert {f"--{option}" for option in options.split()} <= known


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"foreseal {version('foreseal')}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["dev", "extra"], "unexpected extra argument"),
        (["dev", "--stepp", "1s"], "No such option"),
        (["dev", "--step", "fast"], "'fast' is not a duration: write a whole number and its unit, such as 200ms or 2s"),
        (["dev", "--step", "5ms"], "step must be at least 10ms and at most the block time of 2s, not 5ms"),
        (["dev", "--step", "3s"], "step must be at least 10ms and at most the block time of 2s, not 3s"),
        (["dev", "--block-time", "1500ms"], "block time must be a whole number of seconds, at least 1s, not 1500ms"),
        (["run", "--datadir", "d", "--block-time", "0s"], "block time must be a whole number of seconds, at least 1s"),
        (["run", "--automine"], "No such option '--automine'"),
        (["run", "--revert-reason", "message"], "No such option '--revert-reason'"),
        (["dev", "--revert-reason", "both"], "'both' is not one of data, message"),
        (["dev", "--front", "direct"], "No such option '--front'"),
        (["dev", "--transport", "granian"], "'granian' is not one of native, asgi"),
        (["completion", "csh"], "'csh' is not one of 'bash', 'zsh', 'fish'"),
        (["dev", "--port", "70000"], "got 70000"),
        (["dev", "--mnemonic", "not a mnemonic"], "--mnemonic"),
        (["dev", "--accounts", "-1"], "got -1"),
        (["dev", "--balance", str(10**60)], "and at most 1000"),
        (["dev", "--chain-id", "0"], "the chain id must be at least 1"),
        (["dev", "--gas-limit", "10"], "must be at least 5000"),
        (["dev", "--gas-limit", str(10**20)], "the gas limit must be at least 5000 and at most 9223372036854775807"),
        (["dev", "--max-logs", str(10**20)], "limit must be at least 1 and at most 9223372036854775807"),
        (["dev", "--max-call-time", "0s"], "the call time limit must be at least 1"),
        (["dev", "--max-depth", "9"], "--max-depth was removed: it is fixed at 64"),
        (["dev", "--public=1"], "does not take a value"),
        (["dev", "--datadir", __file__], "is a file"),
        (["dev", "--fee-recipient", "0x12"], "'0x12' must have exactly 20 bytes, got 1"),
        (["dev", "--extra-data", "12"], "write 0x and two digits for each byte"),
        (["dev", "--genesis", "/nowhere.json"], "'/nowhere.json' does not exist"),
        (["run"], "Missing option '--datadir'"),
        (["run", "--datadir", __file__], "is a file"),
        (["import", "--datadir", "no-such-folder"], "Missing argument 'CHAIN.rlp'"),
        (["export", "--datadir", "/nowhere", "x.rlp"], "/nowhere is not a folder"),
        (["import", "--datadir", "no-such-folder", "/nowhere.rlp"], "'/nowhere.rlp' does not exist"),
        (["import", "--genesis", "/nowhere.json", "--datadir", "no-such-folder", __file__], "'/nowhere.json' does not"),
        (["export", "--datadir", "/"], "Missing argument 'FILE.rlp'"),
        (["journal", "nonsense"], "No such command 'nonsense'"),
        (["journal", "check", "/nowhere"], "'/nowhere' does not exist"),
        (["journal", "check"], "Missing argument 'DATADIR|URL'"),
        (["journal", "check", "etcd://"], "must name at least one endpoint"),
        (["journal", "check", "etcd://u@h:1/x"], "must not contain a user or password"),
        (["journal", "import", "/nowhere"], "'/nowhere' does not exist"),
        (["cluster", "status"], "Missing option '--journal'"),
        (["cluster", "status", "--journal", "x"], "URL must begin with etcd://"),
        (["cluster", "status", "--journal", "etcd://h:1", "--journal-user", "u"], "journal_password_file"),
        (["cluster", "forget", "--journal", "etcd://h:1"], "Missing argument 'NAME'"),
        (["handover"], "Missing option '--rpc'"),
        (["handover", "--rpc", "ftp://x"], "expected http://HOST:PORT"),
        (["top", "ftp://x"], "URL: expected http://HOST:PORT"),
        (["top", "unix:"], "URL: expected http://HOST:PORT"),
        (["top", "http://x:99999"], "URL: Port out of range"),
        (["top", "--pay", "nothing"], "--pay: expected http://HOST:PORT"),
        (["top", "--interval", "1ms"], "interval must be at least 200ms and at most 60s, got '1ms'"),
        (["top", "--pay-key-file", __file__], "--pay-key-file: requires --pay"),
        (["top", "--key-file", __file__], "must contain one API key"),
        (["statetest"], "Missing argument 'PATH...'"),
        (["statetest", "/nowhere"], "'/nowhere' does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_use_prints_one_line_and_exits_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("foreseal: ")
    assert told.err.count("\n") == 1
    assert words in told.err


def test_development_genesis_options_conflict_with_a_genesis_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    genesis = tmp_path / "genesis.json"
    genesis.write_text("{}")
    assert run(["dev", "--genesis", str(genesis), "--chain-id", "5", "--balance", "1"]) == 2
    assert "--balance and --chain-id configure the development genesis" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["cluster", "status", "--journal"], "foreseal cluster status"),
        (["dev", "--port"], "foreseal dev"),
        (["cluster", "nonsense"], "foreseal cluster"),
        (["--nonsense"], "foreseal"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage_error_names_the_help_of_its_command(
    arguments: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert capsys.readouterr().err.endswith(f" (see {command} --help)\n")
