"""Options that exclude a driver, and chains that need one: exit code 2 and a line that names the option."""

from pathlib import Path

import orjson
import pytest

from command import foreseal
from optimism import op_genesis

ENGINE = ("--engine", "127.0.0.1:0")
JWT = ("--engine-jwt", "engine.jwt")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (ENGINE, ["engine", "engine_jwt"]),
        (JWT, ["engine", "engine_jwt"]),
        ((*ENGINE, *JWT, "--no-produce"), ["driver", "produce"]),
        ((*ENGINE, *JWT, "--follow", "tcp://127.0.0.1:1"), ["engine", "follow", "replica"]),
        (
            (*ENGINE, *JWT, "--journal", "etcd://127.0.0.1:1", "--feed-listen", "127.0.0.1:0"),
            ["engine", "journal", "takeover"],
        ),
        (
            (*ENGINE, *JWT, "--journal", "etcd://127.0.0.1:1", "--feed-listen", "127.0.0.1:0", "--standby"),
            ["engine", "journal"],
        ),
        (("--engine", "somewhere", *JWT), ["--engine", "HOST:PORT"]),
        ((*ENGINE, "--engine-jwt", "absent/engine.jwt"), ["secret", "absent/engine.jwt"]),
        ((*ENGINE, "--engine-jwt", "short.jwt"), ["short.jwt", "32 bytes in hex"]),
        ((), ["--engine", "--engine-jwt", "op-node"]),
        (("--workers", "2"), ["--engine", "--engine-jwt", "op-node"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_start_is_rejected_and_names_the_option(tmp_path: Path, arguments: tuple[str, ...], words: list[str]) -> None:
    (tmp_path / "genesis.json").write_bytes(orjson.dumps(op_genesis()))
    (tmp_path / "short.jwt").write_text("0x1234")
    done = foreseal("run", "--port", "0", "--datadir", "chain", "--genesis", "genesis.json", *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("foreseal: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.parametrize("arguments", [(*ENGINE, *JWT), ENGINE], ids=["both", "engine"])
def test_development_node_has_no_engine(arguments: tuple[str, ...]) -> None:
    done = foreseal("dev", "--port", "0", *arguments)
    assert done.returncode == 2
    assert "No such option '--engine'" in done.stderr


@pytest.mark.parametrize("fork", ["isthmusTime", "holoceneTime", "regolithTime"])
@pytest.mark.parametrize("time", [None, 2**40], ids=["never", "later"])
def test_fork_that_is_not_active_at_genesis_is_named(tmp_path: Path, fork: str, time: int | None) -> None:
    genesis = op_genesis()
    genesis["config"].pop(fork)
    if time is not None:
        genesis["config"][fork] = time
    (tmp_path / "genesis.json").write_bytes(orjson.dumps(genesis))
    done = foreseal(
        "run", "--datadir", "chain", "--genesis", "genesis.json", "--port", "0", *ENGINE, *JWT, cwd=tmp_path
    )
    assert done.returncode == 2, done.stderr
    assert fork in done.stderr
