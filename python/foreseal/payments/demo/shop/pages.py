"""Pages of the demo shop: HTML in which every value is escaped."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape

from foreseal.payments.demo.shop.order_book import OrderStage, ShopOrder
from foreseal.payments.demo.shop.products import PRODUCTS, Product, shown_price

_LABELS = {
    OrderStage.ORDERED: "Ordered",
    OrderStage.PAID: "Paid: the payment is pre-confirmed",
    OrderStage.SHIPPED: "Shipped: the payment is captured and confirmed",
    OrderStage.REFUND_SENT: "Refund sent",
    OrderStage.PARTLY_REFUNDED: "Partly refunded",
    OrderStage.REFUNDED: "Refunded",
    OrderStage.EXPIRED: "Expired without a payment",
}
_HEADINGS = {
    OrderStage.ORDERED: "Waiting for the payment",
    OrderStage.PAID: "Paid, thank you",
    OrderStage.SHIPPED: "Your order is shipped",
    OrderStage.REFUND_SENT: "Your refund is on its way",
    OrderStage.PARTLY_REFUNDED: "A part of your order is refunded",
    OrderStage.REFUNDED: "Your order is refunded",
    OrderStage.EXPIRED: "This order has expired",
}
# Stages that are shown before the order reaches them.
_EXPECTED = (OrderStage.ORDERED, OrderStage.PAID, OrderStage.SHIPPED)
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Ccircle cx='8' cy='8' r='7' fill='%230a655d'/%3E%3C/svg%3E"
)


def catalogue_page() -> str:
    """Return the page with all products."""
    return _page("Products", f'<h1>Products</h1><ul class="products">{"".join(map(_card, PRODUCTS.values()))}</ul>')


def product_page(product: Product, button_url: str) -> str:
    """Return the page of a product, with the payment button of the service."""
    name, order_url = escape(product.name), f"/products/{product.id}/orders"
    return _page(
        product.name,
        f'<div class="product"><div class="card"><img src="/static/{product.id}.svg" alt=""></div>'
        f'<div><h1>{name}</h1><p>{escape(product.description)}</p><p class="price">{escape(product.price_shown)}</p>'
        f'<script src="{escape(button_url)}" data-order-url="{order_url}" data-mode="popup" '
        'data-label="Pay in a window" async></script>'
        f"<noscript>{_buy_form(product)}</noscript>"
        '<p id="checkout-status" class="muted" role="status"></p></div></div>',
    )


def order_page(order: ShopOrder, explorer_url: str) -> str:
    """Return the page of an order for its shopper."""
    followed = "" if order.has_ended else f' data-version="{escape(order.version)}"'
    return _page(
        _HEADINGS[order.stage],
        f'<h1 aria-live="polite">{_HEADINGS[order.stage]}</h1>'
        f"<p>{escape(order.product.name)}, {escape(order.product.price_shown)}</p>"
        f'<ol class="stages" data-order="{escape(order.id)}"{followed} data-stage="{order.stage}">{_stages(order)}</ol>'
        f"{_transaction(order, explorer_url)}",
        refresh=not order.has_ended,
    )


def merchant_page(orders: Sequence[ShopOrder], explorer_url: str, dashboard_url: str) -> str:
    """Return the page of the merchant, with a refund button for each shipped order, and a link to the dashboard."""
    rows = "".join(_row(each, explorer_url) for each in orders)
    table = (
        '<div class="scroll" role="region" aria-label="Orders" tabindex="0"><table><thead><tr>'
        '<th scope="col">Order</th><th scope="col">Product</th><th scope="col">Price</th><th scope="col">Stage</th>'
        f'<th scope="col">Payment</th><th scope="col">Action</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )
    note = (
        '<p class="muted">A real shop shows this page only after a sign-in.</p>'
        f'<p><a href="{escape(dashboard_url)}">The dashboard of the payment service</a> has all details of the orders, '
        "and refunds a part of one. Sign in with the API key that the terminal shows.</p>"
    )
    return _page("Orders of the shop", f"<h1>Orders of the shop</h1>{note}{table if rows else '<p>No orders yet.</p>'}")


def error_page(message: str) -> str:
    """Return a page with an error for people."""
    return _page(
        "Error", f'<h1>Not possible</h1><p role="alert">{escape(message)}</p><p><a href="/">To the shop</a></p>'
    )


def _page(title: str, body: str, *, refresh: bool = False) -> str:
    """Return a document. With `refresh`, browsers without scripts load it again."""
    again = '<noscript><meta http-equiv="refresh" content="2"></noscript>' if refresh else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)} · Demo shop</title><link rel="icon" href="{_ICON}">'
        f'<link rel="stylesheet" href="/static/shop.css"><script src="/static/shop.js" defer></script>{again}</head>'
        '<body><header><a class="brand" href="/">Demo shop</a><nav><a href="/merchant">Merchant view</a></nav></header>'
        f"<main>{body}</main><footer>A demonstration on a development chain. Nothing here has a value.</footer>"
        "</body></html>"
    )


def _card(product: Product) -> str:
    name = escape(product.name)
    return (
        f'<li class="card"><img src="/static/{product.id}.svg" alt=""><div class="body">'
        f'<h2><a href="/products/{product.id}">{name}</a></h2><p class="muted">{escape(product.description)}</p>'
        f'<p class="price">{escape(product.price_shown)}</p>{_buy_form(product)}</div></li>'
    )


def _buy_form(product: Product) -> str:
    return (
        f'<form method="post" action="/products/{product.id}/checkout">'
        f'<button aria-label="Buy {escape(product.name)}">Buy</button></form>'
    )


def _stages(order: ShopOrder) -> str:
    shown: Iterable[OrderStage] = _EXPECTED if OrderStage.EXPIRED not in order.times else ()
    stages = [stage for stage in OrderStage if stage in order.times or stage in shown]
    return "".join(_stage(order, stage) for stage in stages)


def _stage(order: ShopOrder, stage: OrderStage) -> str:
    state = "done" if stage in order.times else "open"
    at = order.times.get(stage)
    time = "" if at is None else f"<time>{datetime.fromtimestamp(at, UTC):%H:%M:%S.%f}"[:-3] + " UTC</time>"
    return f'<li data-state="{state}"><span>{_label(order, stage)}</span>{time}</li>'


def _label(order: ShopOrder, stage: OrderStage) -> str:
    label = _LABELS[stage]
    if stage is OrderStage.PARTLY_REFUNDED:
        return escape(f"{label}: {shown_price(order.refunded)} of {order.product.price_shown}")
    return label


def _short_label(order: ShopOrder) -> str:
    if order.stage is OrderStage.PARTLY_REFUNDED:
        return _label(order, order.stage)
    return _LABELS[order.stage].partition(":")[0]


def _transaction(order: ShopOrder, explorer_url: str) -> str:
    if order.transaction is None:
        return ""
    return f'<p><a href="{escape(explorer_url)}/tx/{escape(order.transaction)}">The payment in the explorer</a></p>'


def _row(order: ShopOrder, explorer_url: str) -> str:
    link = _transaction(order, explorer_url).replace("The payment in the explorer", "Transaction")
    action = ""
    if order.is_refundable:
        label = f"{'Refund the rest:' if order.refunds else 'Refund'} {shown_price(order.refundable)}"
        action = (
            f'<form method="post" action="/merchant/{escape(order.id)}/refund">'
            f'<button aria-label="{escape(label)} of {escape(order.id)}">{escape(label)}</button></form>'
        )
    return (
        f'<tr data-order="{escape(order.id)}"><td><a href="/orders/{escape(order.id)}">{escape(order.id)}</a></td>'
        f"<td>{escape(order.product.name)}</td><td>{escape(order.product.price_shown)}</td>"
        f"<td>{_short_label(order)}</td><td>{link}</td><td>{action}</td></tr>"
    )
