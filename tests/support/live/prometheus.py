"""Debian's Prometheus as a process, with short intervals."""

import json
import signal
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from foreseal.ports import next_free_port
from live.blocks import wait_for
from live.process import is_ok
from live.proxies import require_program

_START_TIME = 60.0
INTERVAL = "1s"
"""Interval of scrapes and of evaluations of rules."""


class Prometheus:
    """A running Prometheus. `jobs` are the addresses (HOST:PORT) to scrape, by job."""

    def __init__(self, folder: Path, jobs: Mapping[str, Sequence[str]], rules: Sequence[Path] = ()) -> None:
        """Start it in an empty folder, and wait until it is ready. Skips the test if it is not installed."""
        program = require_program("prometheus")
        configuration = {
            "global": {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": INTERVAL},
            "rule_files": [str(file) for file in rules],
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": list(targets)}]} for job, targets in jobs.items()
            ],
        }
        folder.mkdir(parents=True)
        # JSON is YAML.
        (folder / "prometheus.yml").write_text(json.dumps(configuration))
        address = f"127.0.0.1:{next_free_port()}"
        self._log = folder / "prometheus.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    program,
                    f"--config.file={folder}/prometheus.yml",
                    f"--storage.tsdb.path={folder}/data",
                    f"--web.listen-address={address}",
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._url = f"http://{address}"
        try:
            wait_for(lambda: is_ok(f"{self._url}/-/ready"), _START_TIME, "Prometheus", self._log.read_text)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> "Prometheus":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop it."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def query(self, expression: str) -> list[Any]:
        """Return the result of an instant query. Raises HTTPError if Prometheus rejects it."""
        series: list[Any] = self._get("query", query=expression)["result"]
        return series

    def firing(self) -> set[str]:
        """Return the names of the alerts that are firing."""
        return {alert["labels"]["alertname"] for alert in self._get("alerts")["alerts"] if alert["state"] == "firing"}

    def _get(self, path: str, **parameters: str) -> Any:
        with urllib.request.urlopen(f"{self._url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}") as answer:
            content = json.loads(answer.read())
        assert content["status"] == "success", content
        return content["data"]
