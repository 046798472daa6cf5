"""Section of a merchant service."""

from rich.text import Text

from foreseal.top.formats import count, duration, rate
from foreseal.top.lines import BAD, GOOD, LABEL, WARNING, StyledText, Value, ViewSection, pairs, table, wrapped
from foreseal.top.service_model import ServiceModel
from foreseal.top.service_sample import NEWEST_ORDERS

_STATUSES = {"ok": GOOD, "degraded": WARNING, "unhealthy": BAD}
_OLD_BLOCK = 30.0
_FEW_CAPTURES = 100
_SHORT_ADDRESS = 10


def service_section(model: ServiceModel, width: int) -> ViewSection:
    """Return the section of a service."""
    sample = model.sample
    title = f"PAYMENTS  {sample.service}"
    if sample.fault:
        return ViewSection(
            title, [pairs(("", StyledText(f"unreachable: {sample.fault}", BAD)), ("", StyledText("retrying", LABEL)))]
        )
    return ViewSection(title, [*_figures(model, width), *_merchants(model), *_orders(model, width)])


def _figures(model: ServiceModel, width: int) -> list[Text]:
    node = {True: StyledText("up", GOOD), False: StyledText("down", BAD), None: StyledText("-")}[model.node_up]
    left = min(model.captures_left.values(), default=None)
    return wrapped(
        [
            ("", StyledText(model.status, _STATUSES.get(model.status, ""))),
            *(("", StyledText(reason, WARNING)) for reason in model.reasons),
            ("node", node),
            ("breaker", model.breaker),
            ("node block", _old(model.block_age)),
            ("blocks behind", count(model.blocks_behind)),
            ("requests", rate(model.requests)),
            ("p99", duration(model.request.p99)),
            ("capture", duration(model.capture.mean)),
            ("p99", duration(model.capture.p99)),
            ("rejections", StyledText(rate(model.rejections), WARNING if model.rejections else "")),
            ("webhooks waiting", count(model.webhooks_pending)),
            ("dead", StyledText(count(model.webhooks_dead), BAD if model.webhooks_dead else "")),
            ("processes", count(model.processes)),
            ("captures left", StyledText(count(left), WARNING if left is not None and left < _FEW_CAPTURES else "")),
            *((f"orders {event}", rate(value)) for event, value in list(model.transitions.items())[:6]),
        ],
        width,
    )


def _old(age: float | None) -> StyledText:
    return StyledText("-") if age is None else StyledText(f"{duration(age)} ago", BAD if age > _OLD_BLOCK else "")


def _merchants(model: ServiceModel) -> list[Text]:
    rows: list[list[Value]] = [
        [row.name, StyledText(row.status, _STATUSES.get(row.status, "")), " ".join(row.reasons)]
        for row in model.merchants
    ]
    return table(("merchant", "status", "reasons"), rows, texts=3) if rows else []


def _orders(model: ServiceModel, width: int) -> list[Text]:
    sample = model.sample
    if sample.orders_fault:
        return [pairs(("orders", StyledText(sample.orders_fault, WARNING)))]
    if sample.orders is None:
        return []
    total = sum(sample.orders.values())
    title = f"newest {NEWEST_ORDERS} orders" if total >= NEWEST_ORDERS else f"{total} orders"
    counts = sorted(sample.orders.items(), key=lambda pair: -pair[1])
    return wrapped([(f"{title}:", ""), *((state, count(number)) for state, number in counts)], width)
