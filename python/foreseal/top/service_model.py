"""Figures of a merchant service, computed from two readings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from foreseal.top.fields import Fields
from foreseal.top.node_model import LatencySummary
from foreseal.top.prometheus import PageChange
from foreseal.top.service_sample import ServiceSample

_MAX_REASONS = 8
_MAX_MERCHANTS = 50


@dataclass(frozen=True, slots=True)
class MerchantRow:
    """A merchant of a service that serves several."""

    name: str
    status: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServiceModel:
    """Figures of a service. Rates are per second, and None until there are two readings."""

    sample: ServiceSample
    status: str = "-"
    reasons: tuple[str, ...] = ()
    """Codes of the failed checks."""
    merchants: tuple[MerchantRow, ...] = ()
    node_up: bool | None = None
    breaker: str = "-"
    """State of the node's circuit breaker."""
    block_age: float | None = None
    """Seconds since the timestamp of the newest block of the node."""
    blocks_behind: float | None = None
    """Blocks in which transfers are not read yet."""
    webhooks_pending: float | None = None
    webhooks_dead: float | None = None
    processes: float | None = None
    captures_left: Mapping[str, float] = field(default_factory=dict)
    """Captures that the ether of a payee pays, by payee."""
    requests: float | None = None
    request: LatencySummary = field(default_factory=LatencySummary)
    capture: LatencySummary = field(default_factory=LatencySummary)
    transitions: Mapping[str, float] = field(default_factory=dict)
    """State transitions of orders, by event."""
    rejections: float | None = None


def build_service_model(before: ServiceSample | None, after: ServiceSample) -> ServiceModel:
    """Return the figures of a service."""
    health, page = after.health, after.metrics
    status, reasons = health.text("status", 16), _reasons(health)
    merchants = tuple(
        MerchantRow(name, each.text("status", 16), _reasons(each))
        for name, each in health.children("merchants", _MAX_MERCHANTS).items()
    )
    if page is None:
        return ServiceModel(after, status, reasons, merchants)
    seconds = 0.0 if before is None else after.time - before.time
    change = PageChange(None if before is None else before.metrics, page, seconds)
    up = [value for _, value in page.series("foreseal_pay_node_up")]
    breakers = [state for state, value in page.by("foreseal_pay_node_breaker", "state").items() if value]
    ages = [value for _, value in page.series("foreseal_pay_node_block_age_seconds")]
    return ServiceModel(
        after,
        status,
        reasons,
        merchants,
        node_up=all(up) if up else None,
        breaker=" ".join(breakers) or "-",
        block_age=max(ages, default=None),
        blocks_behind=max((value for _, value in page.series("foreseal_pay_blocks_behind")), default=None),
        webhooks_pending=page.total("foreseal_pay_webhooks_pending"),
        webhooks_dead=page.total("foreseal_pay_webhooks_dead"),
        processes=page.total("foreseal_pay_processes"),
        captures_left=page.by("foreseal_pay_payee_captures_left", "payee"),
        requests=change.rate("foreseal_pay_request_seconds_count"),
        request=LatencySummary.of_window(change.window("foreseal_pay_request_seconds")),
        capture=LatencySummary.of_window(change.window("foreseal_pay_capture_seconds")),
        transitions=_order_transitions(change),
        rejections=change.rate("foreseal_pay_rejections_total"),
    )


def _order_transitions(change: PageChange) -> dict[str, float]:
    rates = change.rates("foreseal_pay_transitions_total", "event", object="order")
    return {event: rate for event, rate in sorted(rates.items(), key=lambda pair: -pair[1]) if rate > 0}


def _reasons(fields: Fields) -> tuple[str, ...]:
    return tuple(each.text("code", 32) for each in fields.items("reasons", _MAX_REASONS))
