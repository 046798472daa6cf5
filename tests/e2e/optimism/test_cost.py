"""The measurement of `make optimism-cost` in its shortest form."""

from pathlib import Path

from benches.optimism.new_payload import measure_new_payload
from benches.optimism.step_rounds import PARTS, measure_steps


def test_new_payload_is_measured_for_each_size(tmp_path: Path) -> None:
    found = measure_new_payload(tmp_path, [2, 5], 2)
    assert [(each["transactions"], each["blocks"]) for each in found] == [(2, 2), (5, 2)]
    assert all(0 < each["p50_ms"] <= each["p99_ms"] <= each["max_ms"] for each in found)


def test_steps_are_measured_on_both_chains(tmp_path: Path) -> None:
    [found] = measure_steps(tmp_path, [10], 1)
    assert found["transactions"] == 10
    for name in ("optimism", "plain"):
        assert (found[name]["rounds"], found[name]["steps"]) == (1, 1)
        assert set(found[name]["parts_ms"]) == set(PARTS)
        assert found[name]["step_ms"] > 0
