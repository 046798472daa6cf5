"""Configuration of OTLP by the standard environment variables of OpenTelemetry."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass

from foreseal.errors import NodeError

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SAMPLER, _SAMPLER_ARG = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
_INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
DEFAULT_RATIO = 0.01
"""Share of requests without a sampled parent that are traced."""
DEFAULT_INTERVAL = 60.0
"""Seconds between two exports of metrics."""
_EXPORTER = "opentelemetry.exporter.otlp.proto.http"
_MIN_INTERVAL = 1.0
_RATIOS = {"always_on": 1.0, "always_off": 0.0, "traceidratio": None}


class TelemetryError(ValueError):
    """A variable is invalid; the text names it."""


@dataclass(frozen=True, slots=True)
class TraceSampling:
    """Choice of the requests that are traced."""

    ratio: float = DEFAULT_RATIO
    """Share of the requests without a parent."""
    is_parent_based: bool = True
    """True if the flag of a caller's `traceparent` decides."""


@dataclass(frozen=True, slots=True)
class TelemetryConfiguration:
    """Signals that are exported."""

    traces: bool
    metrics: bool
    sampling: TraceSampling = TraceSampling()
    interval: float = DEFAULT_INTERVAL
    """Seconds between two exports of metrics."""


def read_configuration(environment: Mapping[str, str]) -> TelemetryConfiguration | None:
    """Return the configuration; None if nothing is exported. Raises `TelemetryError`."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    traces, metrics = (_is_exported(environment, signal) for signal in ("TRACES", "METRICS"))
    if not (traces or metrics):
        return None
    return TelemetryConfiguration(traces, metrics, _sampling(environment), _interval(environment))


def installed_configuration(environment: Mapping[str, str]) -> TelemetryConfiguration | None:
    """Like `read_configuration`. Raises `NodeError` for an invalid variable, and if the extra is not installed."""
    try:
        configuration = read_configuration(environment)
    except TelemetryError as error:
        raise NodeError("settings", str(error)) from None
    if configuration is not None and not _is_installed(_EXPORTER):
        raise NodeError("settings", f"{_ENDPOINT} needs the extra \"otlp\": pip install 'foreseal[otlp]'")
    return configuration


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a parent package
        return False


def _is_exported(environment: Mapping[str, str], signal: str) -> bool:
    exporter = environment.get(f"OTEL_{signal}_EXPORTER", "").strip() or "otlp"
    if exporter not in ("otlp", "none"):
        raise TelemetryError(f"OTEL_{signal}_EXPORTER must be otlp or none, got {exporter!r}")
    endpoint = environment.get(f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT") or environment.get(_ENDPOINT)
    if exporter == "none" or not endpoint:
        return False
    protocol = (
        environment.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL")
        or environment.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        or "http/protobuf"
    )
    if protocol != "http/protobuf":
        raise TelemetryError(f"OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, got {protocol!r}")
    return True


def _sampling(environment: Mapping[str, str]) -> TraceSampling:
    name = environment.get(_SAMPLER, "").strip() or "parentbased_traceidratio"
    kind = name.removeprefix("parentbased_")
    if kind not in _RATIOS:
        known = ", ".join(f"{prefix}{each}" for prefix in ("", "parentbased_") for each in _RATIOS)
        raise TelemetryError(f"{_SAMPLER} must be one of {known}, got {name!r}")
    ratio = _RATIOS[kind]
    if ratio is None:
        # Without a sampler, all requests of a busy node would be too many.
        default = "1.0" if environment.get(_SAMPLER) else str(DEFAULT_RATIO)
        ratio = _number(_SAMPLER_ARG, environment.get(_SAMPLER_ARG) or default)
        if not 0 <= ratio <= 1:
            raise TelemetryError(f"{_SAMPLER_ARG} must be at least 0 and at most 1, got {ratio:g}")
    return TraceSampling(ratio, is_parent_based=name != kind)


def _interval(environment: Mapping[str, str]) -> float:
    text = environment.get(_INTERVAL)
    seconds = DEFAULT_INTERVAL if not text else _number(_INTERVAL, text) / 1000
    if not _MIN_INTERVAL <= seconds <= 86_400:
        raise TelemetryError(f"{_INTERVAL} must be at least 1000 and at most 86400000 ms, got {text}")
    return seconds


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise TelemetryError(f"{name} must be a number, got {text!r}") from None
