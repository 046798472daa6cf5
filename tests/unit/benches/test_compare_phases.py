"""Expected durations of the phases that only developers run."""

from benches.compare.long_chains import expected_lengths
from benches.compare.profiler import expected_profiles

from foreseal.bench.node import BenchNode
from foreseal.bench.plan import BenchmarkPlan

NODES = [BenchNode(name, "http://127.0.0.1:1") for name in ("a", "b")]


def test_every_length_has_an_expected_duration() -> None:
    expected = expected_lengths(NODES, (1000, 5000), BenchmarkPlan().extent)
    assert list(expected) == ["a at 1,000 blocks", "a at 5,000 blocks", "b at 1,000 blocks", "b at 5,000 blocks"]
    assert 0 < expected["a at 1,000 blocks"] < expected["a at 5,000 blocks"]
    assert expected_lengths(NODES, (), BenchmarkPlan().extent) == {}


def test_profiles_of_rows_and_sends_have_an_expected_duration() -> None:
    both, reads = BenchmarkPlan(), BenchmarkPlan(phases=frozenset({"reads"}))
    assert expected_profiles(both, NODES)["profiles"] > expected_profiles(reads, NODES)["profiles"] > 0
    assert expected_profiles(BenchmarkPlan(phases=frozenset({"visible"})), NODES) == {"profiles": 0}
