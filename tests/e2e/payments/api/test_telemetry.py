"""Traces and metrics of `foreseal pay serve` at a collector."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from foreseal.payments.telemetry.trace_ids import TraceIds
from foreseal.ports import next_free_port
from live import LiveNode, live_node, wait_for
from otlp_collector import OtlpCollector, attributes, otlp_collector
from payments.api.serving import BUYERS, Shopper, api_key, configure, serving
from payments.webhook_receiver import WebhookReceiver

SECONDS = 60.0
SECRET = "whsec_" + "A" * 43 + "="
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
ERROR = 2
LIFE = ["order.created", "order.signed", "order.stored", "order.capture_submitted", "order.captured", "order.finalized"]


@pytest.fixture(scope="module")
def chain() -> Iterator[LiveNode]:
    """Provide a development chain with payments, without telemetry of its own, on which blocks become final soon."""
    with live_node("--payments", "--block-time", "1s", "--safe-depth", "2", "--finalized-depth", "4") as node:
        yield node


@pytest.fixture
def collector(chain: LiveNode, monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpCollector]:
    """Provide a collector that services of the test export to, with every order."""
    with otlp_collector() as receiver:
        receiver.configure(monkeypatch.setenv)
        yield receiver


def configured(chain: LiveNode, folder: Path, more: str = "") -> Path:
    return configure(folder, chain.url, f"sqlite:///{folder}/pay.db", more='[policy]\nconfirmed = "sealed"\n' + more)


def pay(shopper: Shopper, id: str, buyer: int) -> None:
    """Pay an order and wait for finality."""
    shopper.made(f"/v1/orders/{shopper.stored(id, 1_000_000, BUYERS[buyer])}/capture")
    wait_for(lambda: shopper.status(id) == "Used, captured / final", SECONDS, "a final capture")


def test_payment_refund_and_webhooks_are_one_trace(chain: LiveNode, tmp_path: Path, collector: OtlpCollector) -> None:
    secret = tmp_path / "hook.secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    with WebhookReceiver() as hooks:
        target = f'[[webhooks]]\nurl = "{hooks.url}"\nsecret_file = "{secret}"\nallow_private = true\n'
        config = configured(chain, tmp_path, target)
        with serving(config) as service, Shopper(service.url, api_key(config)) as shopper:
            pay(shopper, "a", 0)
            shopper.made("/v1/orders/a/refunds", {"amount": "500000", "id": "r"})
            wait_for(lambda: collector.span("refund"), SECONDS, "a final refund")
            wait_for(lambda: collector.span("webhook refund.finalized"), SECONDS, "the last webhook")
            shopper.client.get("/v1/orders/a", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"})
            wait_for(lambda: any(span.trace_id.hex() == TRACE for span in collector.spans()), SECONDS, "a request")
            metrics = wait_for(lambda: collector.metrics().get("foreseal_pay_transitions"), SECONDS, "an export")
    order = TraceIds(31337, None).of_order("a")
    trace = f"{order.trace_id:032x}"
    spans = [span for span in collector.spans() if span.trace_id.hex() == trace]
    names = [span.name for span in spans]
    assert [name for name in names if name in LIFE] == LIFE
    assert {"refund.created", "refund.finalized", "webhook order.created", "webhook order.finalized"} <= set(names)
    assert len({span.span_id for span in spans}) == len(spans)
    (root,), (refund,) = ([span for span in spans if span.name == name] for name in ("order", "refund"))
    assert (root.span_id.hex(), root.parent_span_id) == (f"{order.span_id:016x}", b"")
    assert {span.parent_span_id for span in spans} == {b"", root.span_id, refund.span_id}
    events = [span for span in spans if span.name.startswith("order.")]
    for event in events:
        assert root.start_time_unix_nano <= event.start_time_unix_nano <= event.end_time_unix_nano
    assert max(event.end_time_unix_nano for event in events) == root.end_time_unix_nano
    assert all(span.status.code != ERROR for span in spans)
    # Requests: the caller's trace, with a link to that of the order.
    (request,) = [span for span in collector.spans() if span.trace_id.hex() == TRACE]
    assert (request.name, request.parent_span_id.hex()) == ("GET /v1/orders/{id}", PARENT)
    assert [(link.trace_id.hex(), link.span_id) for link in request.links] == [(trace, root.span_id)]
    created = collector.span("POST /v1/orders")
    assert created is not None
    assert [link.trace_id.hex() for link in created.links] == [trace]
    assert {resource["service.name"] for resource in collector.resources()} == {"foreseal-pay"}
    points = {tuple(attributes(point.attributes).values()) for point in metrics.sum.data_points}
    assert ("order", "set_terms") in points


def test_second_process_contributes_to_the_trace(chain: LiveNode, tmp_path: Path, collector: OtlpCollector) -> None:
    config = configured(chain, tmp_path)
    key = api_key(config)
    with serving(config) as first, Shopper(first.url, key, "first ") as shopper:
        shopper.stored("b", 1_000_000, BUYERS[1])
    with serving(config) as second, Shopper(second.url, key, "second ") as shopper:
        shopper.made("/v1/orders/b/capture")
        root = wait_for(lambda: collector.span("order"), SECONDS, "a final capture")
    trace = TraceIds(31337, None).of_order("b").trace_id
    spans = [span for span in collector.spans() if span.name in LIFE]
    assert [span.name for span in spans] == LIFE
    assert {int(span.trace_id.hex(), 16) for span in (root, *spans)} == {trace}
    assert len({resource["process.pid"] for resource in collector.resources()}) == 2
    # The first process had created the order before.
    captured = next(span for span in spans if span.name == "order.capture_submitted")
    assert root.start_time_unix_nano < captured.end_time_unix_nano


def test_payments_do_not_need_the_collector(chain: LiveNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{next_free_port()}")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_on")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "2")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
    config = configured(chain, tmp_path)
    with serving(config) as service, Shopper(service.url, api_key(config)) as shopper:
        pay(shopper, "c", 2)


def test_invalid_variable_is_a_usage_error(chain: LiveNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "2")
    config = configured(chain, tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "foreseal", "pay", "serve", "--config", str(config)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == "foreseal: OTEL_TRACES_SAMPLER_ARG must be at least 0 and at most 1, got 2\n"


def test_service_imports_no_opentelemetry_without_an_endpoint() -> None:
    script = "import sys, foreseal.cli.pay_serve; print('opentelemetry' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"
