"""The measurement of `make optimism-cost` in its shortest form."""

from pathlib import Path

from benches.optimism.new_payload import measure_new_payload
from benches.optimism.step_rounds import PARTS, measure_steps


def test_new_payload_is_measured_for_each_size(tmp_path: Path) -> None:
    rows = measure_new_payload(tmp_path, [2, 5], 2)
    assert [(each["transactions"], each["blocks"]) for each in rows] == [(2, 2), (5, 2)]
    assert all(0 < each["p50_ms"] <= each["p99_ms"] <= each["max_ms"] for each in rows)


def test_steps_are_measured_on_both_chains(tmp_path: Path) -> None:
    [figures] = measure_steps(tmp_path, [10], 1)
    assert figures["transactions"] == 10
    for name in ("optimism", "plain"):
        assert (figures[name]["rounds"], figures[name]["steps"]) == (1, 1)
        assert set(figures[name]["parts_ms"]) == set(PARTS)
        assert figures[name]["step_ms"] > 0
