"""Ids and sampling of the traces of orders."""

from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased

from foreseal.payments.telemetry.trace_ids import TraceIds, is_trace_sampled
from foreseal.telemetry.signals import SpanReference

IDS = TraceIds(31337, "books")


def test_ids_of_an_order_never_change() -> None:
    # Processes of different versions contribute to one trace.
    assert IDS.of_order("7") == SpanReference(0xB472A89F957902467613122D704C4940, 0x5D6F80D1697CBC88)
    assert IDS.of_subject("7", "orders", "7") == IDS.of_order("7")


def test_refund_has_a_span_of_its_own_in_the_trace_of_its_order() -> None:
    order, refund, other = IDS.of_order("7"), *(IDS.of_subject("7", "refunds", id) for id in ("7", "8"))
    assert {order.trace_id, refund.trace_id, other.trace_id} == {order.trace_id}
    assert len({order.span_id, refund.span_id, other.span_id}) == 3


def test_merchant_chain_and_order_make_different_traces() -> None:
    variants = [TraceIds(chain, name) for chain in (1, 11) for name in (None, "1", "books")]
    trace_ids = {ids.of_order(id).trace_id for ids in variants for id in ("1", "11", "1:1")}
    assert len(trace_ids) == 18


def test_sampling_equals_that_of_the_sdk() -> None:
    for ratio in (0.0, 0.01, 0.5, 1.0):
        sampler = TraceIdRatioBased(ratio)
        chosen = 0
        for number in range(2_000):
            trace_id = IDS.of_order(str(number)).trace_id
            decision = sampler.should_sample(None, trace_id, "order").decision
            assert is_trace_sampled(trace_id, ratio) == (decision is Decision.RECORD_AND_SAMPLE)
            chosen += is_trace_sampled(trace_id, ratio)
        assert abs(chosen - 2_000 * ratio) <= 100
