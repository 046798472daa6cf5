"""A seed repeats its plan, and every combination of kind and roles occurs."""

from cluster.plan import TARGETS, FaultKind, make_plan

COMBINATIONS = sum(map(len, TARGETS.values()))


def test_seed_repeats_its_plan() -> None:
    assert make_plan(7, 50) == make_plan(7, 50)
    assert make_plan(7, 50) != make_plan(8, 50)


def test_every_combination_occurs_before_any_occurs_again() -> None:
    plan = make_plan(1, COMBINATIONS)
    assert len({(fault.kind, fault.roles) for fault in plan}) == COMBINATIONS
    assert {fault.kind for fault in plan} == set(FaultKind)


def test_durations_lie_around_the_silence_of_a_takeover() -> None:
    plan = make_plan(3, 500)
    assert all(0.2 <= fault.seconds <= 6 for fault in plan)
    assert all(fault.seconds < 0.8 for fault in plan if fault.kind == FaultKind.PAUSE_SHORT)
    assert all(fault.seconds > 0.8 for fault in plan if fault.kind == FaultKind.PAUSE_LONG)
    assert all(abs(fault.jump) >= 60 for fault in plan if fault.kind == FaultKind.CLOCK)


def test_plan_has_only_the_requested_kinds() -> None:
    assert {fault.kind for fault in make_plan(1, 20, [FaultKind.CLOCK])} == {FaultKind.CLOCK}
