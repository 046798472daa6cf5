"""Measurements of the campaign, on recorded samples: delays, gaps between flashblocks, verdicts."""

from typing import Any

from hostile.cadence import Cadence, cadence_of
from hostile.listener import FEED, HEADS, event_of
from hostile.trial import Bounds, Trial, failures_of
from hostile.usage import Usage
from hostile.watch import Delays, Recorder, Window


def record(at: float, delay: float, method: str = "eth_blockNumber", fault: str | None = None) -> dict[str, object]:
    return {"at": at, "caller": "public", "method": method, "ms": delay, "fault": fault, "oldest": at}


def window(p99: float, memory: int, gap: float = 200.0, faults: tuple[str, ...] = ()) -> Window:
    delays = {caller: Delays(100, p99 / 2, p99, p99) for caller in ("public", "keyed")}
    cadence = Cadence(20, 200.0, gap, 2)
    return Window(
        5.0, delays, delays, delays, {}, cadence, memory, memory, memory, 10, 50, 1.0, faults=list(faults)
    )  # fmt: skip


def trial(before: Window, during: Window, after: Window, recovery: float | None = 0.0) -> list[str]:
    measured_trial = Trial("pattern", "native", 1, before, during, after, recovery, {}, 0.0)
    return failures_of(measured_trial, Bounds())


def usage(at: float, anonymous: int) -> Usage:
    return Usage(at, anonymous, anonymous, 10, 50, at)


def test_window_counts_calls_by_due_time() -> None:
    recorder = Recorder()
    for at, delay in ((0.5, 10.0), (1.5, 900.0), (1.9, 20.0), (2.5, 30.0)):
        recorder.records.append(record(at, delay))
    recorder.records.append(record(1.6, 40.0, "eth_sendRawTransaction", "refused"))
    recorded_window = recorder.window(1.0, 2.0, [usage(0.9, 100), usage(1.5, 300), usage(1.9, 200)])
    assert (recorded_window.reads["public"].calls, recorded_window.reads["public"].max) == (2, 900.0)
    assert recorded_window.submissions["public"].faults == 1
    assert (recorded_window.memory_peak, recorded_window.memory_end) == (300, 200)
    assert recorded_window.faults == ["public eth_sendRawTransaction: refused (1 times)"]


def arrival(at: float, time: int | None = None) -> dict[str, Any]:
    """Return a heartbeat, or a step that was made at `time`."""
    return {"at": at, "event": FEED} | ({} if time is None else {"time": time, "bytes": 1000})


def test_gap_without_messages_includes_time_before_the_window() -> None:
    events = [arrival(0.8, 800), arrival(1.2, 1000), {"at": 1.3, "event": HEADS}]
    cadence = cadence_of(events, 1.0, 3.0)
    assert (cadence.flashblocks, cadence.blocks) == (1, 1)
    assert cadence.max == 1800.0


def test_heartbeats_shorten_gaps() -> None:
    events = [arrival(0.2 * turn) for turn in range(20)]
    assert cadence_of(events, 1.0, 3.0).max < 201


def test_gap_between_times_of_steps_counts_though_they_arrive_evenly() -> None:
    events = [arrival(0.2 * turn, 200 * turn + (700 if turn > 10 else 0)) for turn in range(20)]
    assert cadence_of(events, 1.0, 3.0).max == 900.0
    events.insert(10, {"at": 2.0, "event": FEED, "bytes": 1000})
    assert cadence_of(events, 1.0, 3.0).max == 900.0
    # A heartbeat between two steps means that the builder had nothing to add.
    events[10:12] = [arrival(2.0)]
    assert cadence_of(events, 1.0, 3.0).max < 201


def test_messages_of_the_feed_are_identified_by_their_beginning() -> None:
    head = b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":'
    step = head + b'{"number":"0x5","index":"0x2","hash":"0x1","parent":"0x2","time":"0xff","signature":null}}}'
    assert event_of(FEED, step, 1.0) == {"at": 1.0, "event": FEED, "time": 255, "bytes": len(step)}
    heartbeat = head + b'{"heartbeat":{"block":"0x5","index":"0x2","hash":"0x1"}}}}'
    assert event_of(FEED, heartbeat, 1.0) == {"at": 1.0, "event": FEED}
    lagged = b'{"jsonrpc":"2.0","method":"foreseal_lagged","params":{}}'
    assert event_of(FEED, lagged, 1.0)["event"] == "foreseal_lagged"


def test_pattern_without_effect_passes() -> None:
    assert trial(window(5, 30_000), window(40, 31_000), window(5, 31_000)) == []


def test_each_bound_that_is_exceeded_is_named() -> None:
    calm = window(5, 30_000)
    assert any("p99 rose by 100 ms" in failure for failure in trial(calm, window(105, 30_000), calm))
    assert trial(calm, window(5, 300_000), calm) == ["anonymous memory rose by 263 MiB"]
    assert trial(calm, calm, window(5, 160_000)) == ["126 MiB of anonymous memory were left behind"]
    assert trial(calm, window(5, 30_000, gap=4000.0), calm) == ["no step for 4000 ms"]
    assert trial(calm, window(5, 30_000, gap=501.0), calm) == ["no step for 501 ms"]
    assert trial(calm, window(5, 30_000, faults=("wrong",)), calm) == ["honest call failed: wrong"]
    assert trial(calm, calm, calm, None) == ["honest clients were not served as before within 60 s"]


def test_calls_without_an_answer_delay_the_recovery() -> None:
    recorder = Recorder()
    recorder.records += [record(10.0 + number / 50, 1.0) for number in range(100)]
    assert recorder.recovered_at(10.0, 50.0) == 0.0
    recorder.records[-1]["oldest"] = 10.5
    assert recorder.recovered_at(10.0, 50.0) is None
