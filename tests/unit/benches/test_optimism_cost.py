"""Figures of the cost of an OP chain."""

import pytest
from benches.optimism.new_payload import new_payload_figures
from benches.optimism.step_rounds import PARTS, StepTimes, read_step_metrics, step_figures

PAGE = "\n".join(
    [
        'foreseal_step_seconds_bucket{le="0.001"} 1',
        'foreseal_step_seconds_bucket{le="+Inf"} 3',
        "foreseal_step_seconds_sum 0.75",
        "foreseal_step_seconds_count 3",
        *(f'foreseal_step_part_seconds_sum{{part="{name}"}} 0.{at}' for at, name in enumerate(PARTS, 1)),
    ]
)


def test_figures_of_new_payload_are_quantiles_in_ms() -> None:
    figures = new_payload_figures([each / 1000 for each in range(200, 0, -1)])
    assert figures == {"blocks": 200, "p50_ms": 100.5, "p99_ms": 199.0, "max_ms": 200.0}
    assert new_payload_figures([0.25]) == {"blocks": 1, "p50_ms": 250.0, "p99_ms": 250.0, "max_ms": 250.0}


def test_step_metrics_are_read_from_a_page() -> None:
    metrics = read_step_metrics(PAGE)
    assert (metrics.steps.count, metrics.steps.total) == (3, 0.75)
    assert metrics.parts == {name: at / 10 for at, name in enumerate(PARTS, 1)}
    with pytest.raises(AssertionError, match="no metrics of steps"):
        read_step_metrics("")


def test_ratio_is_that_of_the_medians() -> None:
    optimism = StepTimes([30.0, 10.0, 20.0], {"execute": [1.0, 3.0, 2.0]}, [1, 1, 2])
    plain = StepTimes([8.0, 16.0, 9.0], {"execute": [1.0]}, [1, 1, 1])
    figures = step_figures(100, optimism, plain)
    assert figures["optimism"] == {"rounds": 3, "steps": 1, "step_ms": 20.0, "parts_ms": {"execute": 2.0}}
    assert (figures["transactions"], figures["ratio"]) == (100, round(20 / 9, 3))
