"""Spending caps, and purchases that count against them."""

from foreseal.payments.x402.buyer.purchases import PurchaseIntent
from foreseal.payments.x402.buyer.spending_policy import Offer
from payments.shop import BUYER
from payments.x402.buyers import policy
from payments.x402.seller_double import terms

SESSION_CAP, DAY_CAP = 1000, 1500
RULES = policy(per_request=600, per_session=SESSION_CAP, per_day=DAY_CAP)


def offer(amount: int) -> Offer:
    """Return an offer of this many units under the caps."""
    return RULES.offer(terms(amount))


def intent(amount: int, session: str = "a", open_key: str | None = None) -> PurchaseIntent:
    """Return the intent to pay this many units."""
    return PurchaseIntent(BUYER.address, session, open_key, "GET http://seller/", amount)
