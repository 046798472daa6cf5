"""Choice of the traced requests."""

from foreseal.telemetry.configuration import TraceSampling
from foreseal.telemetry.request_sampler import MAX_FLAGGED_PER_SECOND, MAX_SPANS_PER_SECOND, RequestSampler
from foreseal.telemetry.traceparent import TraceParent

SAMPLED = TraceParent(1, 2, is_sampled=True)


def test_requests_traced_per_second_are_limited() -> None:
    now = [5.0]
    sampler = RequestSampler(TraceSampling(1.0), clock=lambda: now[0])
    chosen = [sampler.is_sampled(None) for _ in range(MAX_SPANS_PER_SECOND + 7)]
    assert (sum(chosen), sampler.dropped) == (MAX_SPANS_PER_SECOND, 7)
    now[0] = 6.0
    assert sampler.is_sampled(None)


def test_flags_of_callers_leave_room_for_other_requests() -> None:
    sampler = RequestSampler(TraceSampling(1.0), clock=lambda: 5.0)
    flagged = [sampler.is_sampled(SAMPLED) for _ in range(MAX_SPANS_PER_SECOND)]
    assert sum(flagged) == MAX_FLAGGED_PER_SECOND
    assert sampler.is_sampled(None)
