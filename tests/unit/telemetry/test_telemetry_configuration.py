"""Standard variables of OpenTelemetry."""

import pytest

from foreseal.errors import NodeError
from foreseal.telemetry import configuration
from foreseal.telemetry.configuration import (
    TelemetryConfiguration,
    TelemetryError,
    TraceSampling,
    installed_configuration,
    read_configuration,
)

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_TRACES_SAMPLER": "always_on"},
        {**ENDPOINT, "OTEL_SDK_DISABLED": "True"},
        {**ENDPOINT, "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
    ],
)
def test_nothing_is_exported_without_an_endpoint_or_when_disabled(environment: dict[str, str]) -> None:
    assert read_configuration(environment) is None


def test_defaults_trace_one_request_in_a_hundred() -> None:
    assert read_configuration(ENDPOINT) == TelemetryConfiguration(True, True, TraceSampling(0.01, True), 60.0)


def test_endpoint_of_one_signal_exports_that_signal() -> None:
    telemetry = read_configuration({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c/v1/metrics"})
    assert telemetry is not None
    assert (telemetry.traces, telemetry.metrics) == (False, True)


@pytest.mark.parametrize(
    ("sampler", "argument", "sampling"),
    [
        ("always_on", "", TraceSampling(1.0, False)),
        ("parentbased_always_off", "", TraceSampling(0.0, True)),
        ("traceidratio", "0.25", TraceSampling(0.25, False)),
        ("parentbased_traceidratio", "", TraceSampling(1.0, True)),
        ("", "0.5", TraceSampling(0.5, True)),
    ],
)
def test_samplers(sampler: str, argument: str, sampling: TraceSampling) -> None:
    environment = ENDPOINT | {"OTEL_TRACES_SAMPLER": sampler, "OTEL_TRACES_SAMPLER_ARG": argument}
    telemetry = read_configuration(environment)
    assert telemetry is not None
    assert telemetry.sampling == sampling


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"),
        ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
        ("OTEL_TRACES_SAMPLER_ARG", "x"),
        ("OTEL_TRACES_SAMPLER_ARG", "nan"),
        ("OTEL_TRACES_SAMPLER_ARG", "-0.1"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "10"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "nan"),
    ],
)
def test_invalid_values_are_named(name: str, value: str) -> None:
    with pytest.raises(TelemetryError, match=name.replace("_TRACES_PROTOCOL", "_PROTOCOL")):
        read_configuration(ENDPOINT | {name: value})


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert installed_configuration({}) is None
    monkeypatch.setattr(configuration, "_EXPORTER", "opentelemetry_that_is_missing.exporter")
    with pytest.raises(NodeError, match="needs the extra \"otlp\": pip install 'foreseal\\[otlp\\]'") as raised:
        installed_configuration(ENDPOINT)
    assert raised.value.is_usage_error
