"""The load runs in their shortest form: they end, all responses arrive, and the file names its origin."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from repository import ROOT

ORIGIN = {"command", "date", "commit", "dirty", "machine", "versions", "results"}


def run(name: str, saved: Path, *options: object) -> list[dict[str, Any]]:
    """Return the results of a load run, one line of figures each."""
    command = [sys.executable, "-m", f"benches.load.{name}", *map(str, options), "--save", str(saved)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(saved.read_text())
    assert report.keys() >= ORIGIN
    assert report["command"].split() == ["python", "-m", f"benches.load.{name}", *map(str, options)]
    results: list[dict[str, Any]] = report["results"]
    assert results
    return results


def test_every_synchronous_submission_is_answered_once(tmp_path: Path) -> None:
    options = ("--transactions", 60, "--rate", 30, "--steps", 100, 50)
    for figures in run("sync_send", tmp_path / "figures.json", *options):
        assert figures["every_one_right"] is True
        assert (figures["submissions"], figures["answer"]["p50_ms"] > 0) == (60, True)


def test_visibility_run_samples_every_transaction_in_each_source(tmp_path: Path) -> None:
    options = ("--rates", 40, "--steps", 100, 10, "--seconds", 1)
    for figures in run("visible", tmp_path / "figures.json", *options):
        assert [figures[way]["samples"] for way in ("submission_answered", "nonce", "receipt", "log")] == [40] * 4


def test_every_subscriber_gets_every_log(tmp_path: Path) -> None:
    options = ("--subscribers", 3, "--servers", "native", "asgi", "uvicorn", "--seconds", 1)
    for figures in run("fanout", tmp_path / "figures.json", *options):
        # Five steps per second, ten logs each.
        assert (figures["notifications"], figures["expected"], figures["closed"]) == (150, 150, {})
        assert figures["delay"]["p50_ms"] > 0


def test_reads_are_measured_through_one_process_and_through_workers(tmp_path: Path) -> None:
    options = ("--workers", 2, "--rounds", 1, "--seconds", 0.5, "--submissions", 5)
    results = run("workers", tmp_path / "figures.json", *options)
    assert {figures["workers"] for figures in results} == {1, 2}
    assert all(figures["requests_per_second"] > 0 for figures in results)
    for figures in json.loads((tmp_path / "figures.json").read_text())["followed"]:
        assert (figures["seen_at_once_by_its_own"], figures["polls"]) == (5, 80)


def test_load_run_measures_both_transports_and_a_bare_application(tmp_path: Path) -> None:
    saved = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benches.load", "--rounds", "1", "--seconds", "0.1", "--save", str(saved)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = {figures["name"]: figures for figures in json.loads(saved.read_text())["results"]}
    assert len(results) == 5
    assert results["bare"]["ratio"] == 1
    assert all(figures["p99_ms"] >= figures["p50_ms"] > 0 for figures in results.values())
