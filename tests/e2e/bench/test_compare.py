"""The command of a clone: plots, flame graphs and long chains."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from benches.compare.perf import PerfSampler

from bench_shape import LONG, SHORT, find_perf
from foreseal.bench import throughput
from repository import ROOT

GUIDE = ROOT / "docs" / "operate" / "benchmark.md"


def compare(*arguments: object, folder: Path = ROOT, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder; return its exit code, standard output and standard error."""
    command = [sys.executable, "-m", "benches.compare", *map(str, arguments)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    env = os.environ | {"PYTHONPATH": path} | variables
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=LONG, check=False)


def test_plots_are_drawn_in_the_report_and_from_saved_results(tmp_path: Path) -> None:
    saved, html, again = (tmp_path / name for name in ("figures.json", "report.html", "again.html"))
    ended = compare(*SHORT, "--row", "call", "--json", saved, "--html", html)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(saved.read_text())
    assert report["command"].startswith("python -m benches.compare --blocks 60")
    page = html.read_text()
    # Rates, costs and latencies of two numbers of connections, before and after the restart; the open loop; the sends.
    assert page.count("<svg") == 2 * 2 * 3 + 2 + 2
    # The page loads nothing: the only address is that of the namespace.
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "<script" not in page
    command = [sys.executable, "-m", "benches.compare.plotted_report", str(saved), str(again)]
    subprocess.run(command, cwd=ROOT, check=True)
    assert again.read_text() == page


def test_profile_saves_a_flame_graph_of_each_row_and_node(perf: PerfSampler, tmp_path: Path) -> None:
    saved, folder = tmp_path / "figures.json", tmp_path / "profiles"
    phases = ("--phases", "reads,send", "--row", "call", "--row", "storage")
    files = ("--profile", folder, "--json", saved, "--html", tmp_path / "page.html")
    ended = compare(*SHORT, *phases, *files)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(saved.read_text())
    assert report.get("missing") == []
    assert [profile["row"] for profile in report["profiles"]] == ["call", "storage", *throughput.KINDS]
    assert {file.name for file in folder.iterdir()} == {Path(each["file"]).name for each in report["profiles"]}
    for profile in report["profiles"]:
        assert profile["samples"] > 0
        svg = Path(profile["file"]).read_text()
        assert (
            f"{profile['row']}, {profile['connections']} connections, foreseal, {profile['samples']:,} samples" in svg
        )
        assert re.search(
            rf"^profile, {re.escape(profile['row'])}, .* samples  {profile['file']}$", ended.stdout, re.MULTILINE
        )
    # Python, its libraries and the core are in one graph.
    assert {'class="python"', 'class="native"', 'class="core"'} <= set(re.findall(r'class="\w+"', svg))
    assert "Flame graphs" in (tmp_path / "page.html").read_text()
    assert re.search(r"^profiles: (\d+) of \1, ", ended.stderr, re.MULTILINE)


def test_missing_perf_is_an_error_before_a_node_starts(tmp_path: Path) -> None:
    ended = compare("--start", "foreseal", "--profile", tmp_path / "profiles", PATH=str(tmp_path))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith("Error: --profile: perf is not on the PATH: install the package ")
    assert "started" not in ended.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scale", "10"), "--scale: chains must have at least 1,000"),
        (("--json", "/nowhere/x.json"), "--json: /nowhere/x.json: folder /nowhere does not exist"),
        (("--profile", "/nowhere/x"), "--profile: /nowhere/x: folder /nowhere does not exist"),
        (("--profile", "x", "--phases", "visible"), "--profile: --phases must contain reads, open or send"),
    ],
)
def test_wrong_use_names_the_option(options: tuple[str, ...], message: str) -> None:
    ended = compare("--node", "a=http://127.0.0.1:1", *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr


def test_the_commands_of_the_guide_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    prefix = ".venv/bin/python -m benches.compare "
    lines = [line for line in "".join(blocks).splitlines() if line.startswith(prefix)]
    assert len(lines) >= 3
    has_perf = not isinstance(find_perf(), str)
    for line in lines:
        given = shlex.split(line.removeprefix(prefix), comments=True)
        if "--scale" in given:
            given[given.index("--scale") + 1] = "1000"
        if "--profile" in given and not has_perf:
            at = given.index("--profile")
            del given[at : at + 2]
        # The last value of a repeated option counts.
        ended = compare(*given, *SHORT, "--phases", "reads", "--row", "blockNumber", "--row", "call", folder=tmp_path)
        assert ended.returncode == 0, f"{line}: {ended.stderr}"
        assert re.search(r"^call, 1 .* /s", ended.stdout, re.MULTILINE), line
        assert ("1,000 blocks" in ended.stdout) == ("--scale" in line)
    saved = {"report.html"} | ({"profiles"} if has_perf else set())
    assert {file.name for file in tmp_path.iterdir()} == saved
