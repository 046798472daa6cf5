"""Intervals of ticks."""

from benches.cluster.tick_watch import TickWatch, tick_figures

HEAD = b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":'
STEP = HEAD + b'{"number":"0x1","transactions":[' + b"0," * 200 + b'"heartbeat"]}}}'
HEARTBEAT = HEAD + b'{"heartbeat":{"block":"0x1","index":"0x0"}}}}'


def test_messages_until_a_heartbeat_are_one_tick() -> None:
    watch = TickWatch(0)
    for messages in ([STEP, HEARTBEAT], [HEARTBEAT], [STEP, STEP, HEARTBEAT]):
        for message in messages:
            watch._notified(message)
    assert (len(watch.ticks), len(watch.steps)) == (3, 3)
    assert watch.ticks == sorted(watch.ticks)


def test_interval_belongs_to_the_tick_that_ends_it() -> None:
    ticks = [1.0, 1.2, 1.4, 3.4, 3.6]
    before, during = tick_figures(ticks, 1.0, 2.0), tick_figures(ticks, 2.0, 4.0)
    assert (before["ticks"], during["ticks"]) == (2, 2)
    assert before["interval"]["max_ms"] == 200.0
    assert during["interval"]["max_ms"] == 2000.0


def test_phase_without_ticks_has_no_interval() -> None:
    assert tick_figures([1.0], 0.0, 2.0) == {"ticks": 0, "interval": None}
