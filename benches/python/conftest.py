"""Result files of pytest-benchmark in the common form: the origin, then one line of figures per benchmark."""

from typing import Any

import pytest
from benches.python.peer_ratios import PEERS

from foreseal.bench.provenance import read_provenance


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Reduce the output to names, figures and their origin; times in microseconds per call."""
    results = [
        {
            "group": benchmark["group"],
            "name": benchmark["name"],
            **{name: round(benchmark["stats"][name] * 1e6, 3) for name in ("min", "median", "mean")},
            "rounds": benchmark["stats"]["rounds"],
        }
        for benchmark in output_json["benchmarks"]
    ]
    command = "python -m pytest " + " ".join(str(argument) for argument in config.invocation_params.args)
    output_json.clear()
    output_json.update({**read_provenance(command, PEERS), "unit": "us", "results": results})
