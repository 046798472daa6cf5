"""Measurements of the campaign, on recorded samples: delays, gaps between flashblocks, verdicts."""

from hostile.trial import Bounds, Trial, failures_of
from hostile.usage import Usage
from hostile.watch import Cadence, Delays, Recorder, Window


def record(at: float, delay: float, method: str = "eth_blockNumber", fault: str | None = None) -> dict[str, object]:
    return {"at": at, "caller": "public", "method": method, "ms": delay, "fault": fault, "oldest": at}


def window(p99: float, memory: int, gap: float = 200.0, faults: tuple[str, ...] = ()) -> Window:
    delays = {caller: Delays(100, p99 / 2, p99, p99) for caller in ("public", "keyed")}
    cadence = Cadence(20, 200.0, gap, 2)
    return Window(5.0, delays, delays, {}, cadence, memory, memory, memory, 10, 50, 1.0, list(faults))


def trial(before: Window, during: Window, after: Window, recovery: float | None = 0.0) -> list[str]:
    found = Trial("pattern", "native", 1, before, during, after, recovery, {}, 0.0)
    return failures_of(found, Bounds())


def usage(at: float, anonymous: int) -> Usage:
    return Usage(at, anonymous, anonymous, 10, 50, at)


def test_window_counts_calls_by_due_time() -> None:
    recorder = Recorder()
    for at, delay in ((0.5, 10.0), (1.5, 900.0), (1.9, 20.0), (2.5, 30.0)):
        recorder.records.append(record(at, delay))
    recorder.records.append(record(1.6, 40.0, "eth_sendRawTransaction", "refused"))
    found = recorder.window(1.0, 2.0, [usage(0.9, 100), usage(1.5, 300), usage(1.9, 200)])
    assert (found.reads["public"].calls, found.reads["public"].max) == (2, 900.0)
    assert found.submissions["public"].faults == 1
    assert (found.memory_peak, found.memory_end) == (300, 200)
    assert found.faults == ["public eth_sendRawTransaction: refused (1 times)"]


def test_gap_without_flashblocks_includes_time_before_the_window() -> None:
    recorder = Recorder()
    recorder.events += [(0.8, "newFlashblocks"), (1.2, "newFlashblocks"), (1.3, "newHeads")]
    found = recorder.window(1.0, 3.0, [usage(1.0, 1)])
    assert (found.cadence.flashblocks, found.cadence.blocks) == (1, 1)
    assert found.cadence.max == 1800.0


def test_pattern_without_effect_passes() -> None:
    assert trial(window(5, 30_000), window(40, 31_000), window(5, 31_000)) == []


def test_each_bound_that_is_exceeded_is_named() -> None:
    calm = window(5, 30_000)
    assert any("p99 rose by 100 ms" in failure for failure in trial(calm, window(105, 30_000), calm))
    assert trial(calm, window(5, 300_000), calm) == ["anonymous memory rose by 263 MiB"]
    assert trial(calm, calm, window(5, 160_000)) == ["126 MiB of anonymous memory were left behind"]
    assert trial(calm, window(5, 30_000, gap=4000.0), calm) == ["no flashblock for 4000 ms"]
    assert trial(calm, window(5, 30_000, faults=("wrong",)), calm) == ["honest call failed: wrong"]
    assert trial(calm, calm, calm, None) == ["honest clients were not served as before within 60 s"]


def test_calls_without_an_answer_delay_the_recovery() -> None:
    recorder = Recorder()
    recorder.records += [record(10.0 + number / 50, 1.0) for number in range(100)]
    assert recorder.recovered_at(10.0, 50.0) == 0.0
    recorder.records[-1]["oldest"] = 10.5
    assert recorder.recovered_at(10.0, 50.0) is None
