"""Cost of transactions over workers, placement of processes, and the search for the highest rate."""

import pytest
from benches.many_cores.measurement import connection_shares
from benches.many_cores.node_processes import CpuReading
from benches.many_cores.placement import place
from benches.many_cores.send_cost import SendCost, fit_line, max_workers, per_added_core, send_cost
from benches.sustained.search import Trial, confirm, find_highest

COST = SendCost(sequencer=100e-6, sequencer_per_worker=20e-6, serial=40e-6, serial_per_worker=0.0, worker=50e-6)


def test_line_through_points_is_found() -> None:
    assert fit_line([(1, 5.0), (2, 7.0), (4, 11.0)]) == pytest.approx((3.0, 2.0))
    assert fit_line([(3, 4.0)]) == (4.0, 0.0)


def test_each_added_core_is_compared_with_the_first() -> None:
    assert per_added_core(8, 800.0, 100.0) == 1.0
    assert per_added_core(3, 200.0, 100.0) == 0.5


def test_connections_are_those_of_all_workers_over_the_generators() -> None:
    assert connection_shares(8, place(range(16), 8)) == [19, 19, 18, 18, 18, 18, 18]
    assert connection_shares(1, place(range(20), 1)) == [1] * 16
    assert connection_shares(2, place(range(2), 2)) == [32]


def test_costs_of_a_transaction_are_fitted_over_workers() -> None:
    points = [
        {"workers": count, "sequencer": 100e-6 + 20e-6 * count, "serial": 40e-6, "worker": 50e-6} for count in (2, 4, 8)
    ]
    cost = send_cost(points)
    assert (cost.sequencer, cost.sequencer_per_worker) == pytest.approx((100e-6, 20e-6))
    assert (cost.serial, cost.serial_per_worker, cost.worker) == pytest.approx((40e-6, 0.0, 50e-6))


def test_workers_are_limited_by_the_sequencer() -> None:
    # At 1,000 a second a transaction has 1,000 us of one core, of which 900 are left for workers.
    assert max_workers(1_000, COST) in (44, 45)
    assert max_workers(20_000, COST) == 0
    assert max_workers(1, COST) == 256


def test_each_process_has_a_core_of_its_own_if_there_are_enough() -> None:
    placement = place(range(16), 8)
    assert placement.is_parallel
    assert placement.sequencer == (0,)
    assert placement.workers == tuple((core,) for core in range(1, 9))
    assert placement.generators == tuple(range(9, 16))


@pytest.mark.parametrize(("cores", "workers"), [(2, 1), (2, 12), (4, 8), (1, 2)])
def test_workers_share_the_upper_cores_if_there_are_few(cores: int, workers: int) -> None:
    placement = place(range(cores), workers)
    assert not placement.is_parallel
    assert len(placement.workers) == workers
    assert len(set(placement.workers)) == 1
    assert placement.generators == placement.sequencer
    assert cores == 1 or not set(placement.workers[0]) & set(placement.generators)


def test_processor_time_is_counted_by_thread() -> None:
    before = CpuReading({1: 1.0, 2: 2.0}, 0.5, {1: "writer", 2: "feed"})
    used = CpuReading({1: 1.5, 2: 2.25, 3: 0.25}, 0.75, {1: "writer", 2: "feed", 3: "feed"}).since(before)
    assert (used.total, used.busiest, used.kernel) == (1.0, 0.5, 0.25)
    assert used.by_name() == {"writer": 0.5, "feed": 0.5}


def trial(rate: float, highest: float) -> Trial:
    """Return a trial that passes up to a highest rate."""
    return Trial(rate, 40.0, 10.0, 10.0, rejected=0, drain=0.1, store_delay=0.1 if rate <= highest else 9.0)


@pytest.mark.parametrize("highest", [1_000.0, 1_700.0, 9_999.0])
def test_highest_rate_is_found_within_its_bisections(highest: float) -> None:
    capacity, trials = find_highest(lambda rate: trial(rate, highest), 1_000.0)
    assert capacity <= highest < capacity * 1.1
    assert capacity == max(each.rate for each in trials if each.passed)


def test_highest_rate_is_reduced_until_a_long_trial_passes() -> None:
    capacity, trials = confirm(lambda rate: trial(rate, 900.0), 1_000.0)
    assert [round(each.rate) for each in trials] == [1_000, 920, 846]
    assert capacity == trials[-1].rate


def test_confirmation_fails_below_half_of_the_rate() -> None:
    with pytest.raises(RuntimeError, match="half of 1000 transfers a second"):
        confirm(lambda rate: trial(rate, 400.0), 1_000.0)


def test_search_fails_if_the_first_rate_does() -> None:
    with pytest.raises(RuntimeError, match="does not keep up with 1000 transfers a second"):
        find_highest(lambda rate: trial(rate, 500.0), 1_000.0)


@pytest.mark.parametrize(
    "slow",
    [
        Trial(1, 9, 501, 1, 0, 0, 0),
        Trial(1, 9, 1, 501, 0, 0, 0),
        Trial(1, 9, 1, 1, 1, 0, 0),
        Trial(1, 9, 1, 1, 0, 2, 0),
    ],
)
def test_late_or_rejected_transactions_fail_a_trial(slow: Trial) -> None:
    assert not slow.passed
