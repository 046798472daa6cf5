"""One reading of a merchant service: its health, its metrics, and its newest orders."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from foreseal.top.fields import Fields
from foreseal.top.prometheus import MetricsPage, parse_metrics
from foreseal.top.source import HttpSource, SourceError, parse_json

NEWEST_ORDERS = 100
"""Orders that are counted by state."""
_OK = 200


@dataclass(frozen=True, slots=True)
class ServiceSample:
    """A reading. Every text in it is safe to print."""

    time: float
    """Monotonic time in seconds."""
    service: str
    """URL of the service."""
    health: Fields = field(default_factory=lambda: Fields(None))
    metrics: MetricsPage | None = None
    orders: Mapping[str, int] | None = None
    """Numbers of the newest orders by state; None without an API key."""
    fault: str = ""
    """Reason why the service could not be read; empty if it was."""
    orders_fault: str = ""
    """Reason why the orders could not be read; empty if they were."""


class ServiceSampler:
    """Reads a service. For one thread."""

    def __init__(self, source: HttpSource, clock: Callable[[], float], *, has_key: bool) -> None:
        """`clock` is monotonic, in seconds. Orders are read if the source has an API key."""
        self._source = source
        self._clock = clock
        self._has_key = has_key

    def sample(self) -> ServiceSample:
        """Return a reading; one with a `fault` if the service does not answer."""
        try:
            health = self._read_health()
            reply = self._source.get("/metrics")
        except SourceError as error:
            return ServiceSample(self._clock(), self._source.name, fault=str(error))
        metrics = parse_metrics(reply.body.decode(errors="replace")) if reply.status == _OK else None
        orders, fault = self._read_orders() if self._has_key else (None, "")
        return ServiceSample(self._clock(), self._source.name, health, metrics, orders, orders_fault=fault)

    def _read_health(self) -> Fields:
        # An unhealthy service answers with 503 and the reasons.
        health = Fields(parse_json(self._source.get("/healthz")))
        if "status" not in health:
            raise SourceError("/healthz is not that of a merchant service")
        return health

    def _read_orders(self) -> tuple[Mapping[str, int] | None, str]:
        try:
            reply = self._source.get(f"/v1/orders?limit={NEWEST_ORDERS}")
            page = Fields(parse_json(reply))
        except SourceError as error:
            return None, str(error)
        if reply.status != _OK:
            return None, f"HTTP {reply.status}: {page.child('error').text('message')}"
        counts: dict[str, int] = {}
        for order in page.items("items", NEWEST_ORDERS):
            state, step = order.text("state", 24), order.text("finality", 16)
            key = state if step == "-" else f"{state} / {step}"
            counts[key] = counts.get(key, 0) + 1
        return counts, ""
