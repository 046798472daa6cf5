"""The command, its files, and its guide."""

import json
import re
import shlex
from pathlib import Path

import pytest

from bench_shape import LONG, SHORT
from command import foreseal
from foreseal.bench import token
from foreseal.bench.call_matrix import ROWS
from foreseal.bench.peers import KINDS, PeerUnavailable
from foreseal.codec import keccak
from foreseal.server.settings import TABLE
from foreseal.server.settings.model import default_value
from live import live_node
from repository import ROOT, SUPPORT

GUIDE = ROOT / "docs" / "operate" / "benchmark.md"


def test_run_prints_and_saves_its_figures(tmp_path: Path) -> None:
    saved, html = tmp_path / "figures.json", tmp_path / "report.html"
    ended = foreseal("bench", "--start", "foreseal", *SHORT, "--json", saved, "--html", html, seconds=LONG)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(saved.read_text())
    assert report["command"].startswith("foreseal bench --start foreseal --blocks 60")
    assert report.keys() >= {"commit", "date", "machine", "versions", "shape", "extent", "generator", "nodes"}
    assert {cell["row"] for cell in report["reads"]} == {row.name for row in ROWS}
    assert {cell["row"] for cell in report["reads_after_restart"]} == {row.name for row in ROWS}
    (node,) = report["nodes"]
    assert node["version"].startswith("anvil-compatible/foreseal/")
    assert node["transport"] == default_value(TABLE["server.transport"])
    assert 0 < node["start_ms"] < 60_000
    for key in ("open_loop", "sends", "visibility", "fanout"):
        assert report[key], key
    assert re.search(
        rf"^node +foreseal +anvil-compatible/foreseal/.*, transport {node['transport']}$", ended.stdout, re.MULTILINE
    )
    for row in ROWS:
        assert f"{row.name}, 2 " in ended.stdout, row.name
    assert re.search(r"^reads, repetition 1 of 1: (\d+) of \1, .* elapsed, about .* left$", ended.stderr, re.MULTILINE)
    assert "\r" not in ended.stderr
    assert "x: ratio to foreseal" in ended.stderr
    assert re.search(r"^send, native +foreseal +[\d,]+ /s +[\d,.]+ us$", ended.stdout, re.MULTILINE)
    page = html.read_text()
    # Two numbers of connections, before and after the restart; the open loop; the sends.
    headings = re.findall("<h2>(Reads|Open loop|Sends)", page)
    assert headings == ["Reads"] * 2 * 2 + ["Open loop", "Sends"]
    for cell in report["reads"]:
        assert sum(cell["latency_buckets_ms"].values()) > 0
        assert cell["rates_of_runs"] == [cell["requests_per_second"]]
    # The page loads nothing.
    assert "http://" not in page
    assert "<script" not in page


def test_running_node_is_measured_by_url(tmp_path: Path) -> None:
    with live_node() as node:
        ended = foreseal(
            "bench", "--node", f"mine={node.url}", *SHORT, "--phases", "reads", "--row", "call", seconds=LONG
        )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"^call, 2 +mine +[\d,]+ /s", ended.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--node", "http://127.0.0.1:1"), "'--node': 'http://127.0.0.1:1' is not NAME=URL"),
        (("--node", "a=https://x"), "'--node': 'https://x' must be an http:// URL"),
        (("--node", "a=http://127.0.0.1:1", "--node", "a=http://127.0.0.1:2"), "node names must be unique"),
        (("--node", "a=http://127.0.0.1:1", "--peer", "b"), "--peer: unknown node 'b', expected one of: a"),
        (("--connections", "1,x"), "'--connections': 'x' must be a whole number"),
        (("--blocks", "60", "--dense", "5"), "--blocks, --dense: 5 dense blocks"),
        (("--row", "logs"), "'--row': unknown row 'logs', expected one of: blockNumber;"),
        (("--phases", "reads,all"), "'--phases': unknown phase 'all', expected one of: reads,"),
        (("--phases", "send,restart"), "--phases: restart repeats the reads: add reads"),
        (
            ("--scale", "1000"),
            "--scale was removed: in a clone of Foreseal, "
            "`python -m benches.compare` measures chains of several lengths",
        ),
        (
            ("--profile", "x"),
            "--profile was removed: in a clone of Foreseal, `python -m benches.compare` saves flame graphs",
        ),
        (("--json", "/nowhere/x.json"), "--json: /nowhere/x.json: folder /nowhere does not exist"),
        (("--html", "/nowhere/x.html"), "--html: /nowhere/x.html: folder /nowhere does not exist"),
    ],
)
def test_wrong_use_names_the_option(options: tuple[str, ...], message: str) -> None:
    given = options if options[0] == "--node" else ("--node", "a=http://127.0.0.1:1", *options)
    ended = foreseal("bench", *given)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_unreachable_node_is_reported_in_one_line() -> None:
    ended = foreseal("bench", "--node", "a=http://127.0.0.1:9", "--connections", "1", "--seconds", "0.05")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("foreseal: a: http://127.0.0.1:9: ")


def test_unreachable_peer_is_skipped_with_a_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for kind in ("anvil", "hardhat", "geth"):
        monkeypatch.delenv(f"FORESEAL_BENCH_{kind.upper()}", raising=False)
        with pytest.raises(PeerUnavailable, match=f"{kind} is not on the PATH, and FORESEAL_BENCH_{kind.upper()}"):
            KINDS[kind]()
    monkeypatch.setenv("FORESEAL_BENCH_GETH", "/nowhere/geth")
    with pytest.raises(PeerUnavailable, match="FORESEAL_BENCH_GETH: /nowhere/geth is not a program"):
        KINDS["geth"]()


def test_the_token_is_the_compiled_contract() -> None:
    compiled = json.loads((SUPPORT / "contracts" / "Token.json").read_text())
    assert "0x" + token.CREATION.hex() == compiled["bytecode"]
    assert token.transfer(bytes(20), 1)[:4] == keccak(b"transfer(address,uint256)")[:4]


def test_the_commands_of_the_guide_run(tmp_path: Path) -> None:
    guide = GUIDE.read_text()
    blocks = re.findall(r"```sh\n(.*?)```", guide, re.DOTALL)
    lines = [line for line in "".join(blocks).splitlines() if line.startswith("foreseal bench")]
    assert len(lines) >= 3
    for line in lines:
        with live_node() as node:
            given = shlex.split(line.replace("http://127.0.0.1:8545", node.url), comments=True)[1:]
            # The last value of a repeated option counts.
            shorter = (*SHORT, "--phases", "reads", "--row", "blockNumber", "--row", "call")
            ended = foreseal(*given, *shorter, cwd=tmp_path, seconds=LONG)
        assert ended.returncode == 0, f"{line}: {ended.stderr}"
        assert re.search(r"^call, 1 .* /s", ended.stdout, re.MULTILINE), line
    assert {file.name for file in tmp_path.iterdir()} == {"figures.json", "report.html"}


def test_the_guide_has_every_row_and_every_node() -> None:
    guide = GUIDE.read_text()
    for row in ROWS:
        assert f"\n| {row.name} | " in guide, row.name
    for kind in KINDS:
        assert f"\n| `{kind}` | " in guide, kind
