"""Operations of x402: at the facilitator, at the seller, and of payment channels."""

from collections.abc import Sequence
from typing import ClassVar

import httpx
from x402.http.utils import decode_payment_required_header

from wallets.market import Market
from wallets.operations import ACCEPTED, Operation, Sale
from wallets.paid_shop import CHARGE, PATHS, PRICE, TICK, VOUCHERS
from wallets.people import FACILITATOR

_GOODS = {PATHS["exact"]: PRICE, PATHS["permit2"]: PRICE, PATHS["upto"]: CHARGE}


class PaidOperation(Operation):
    """An operation of x402, whose gas the facilitator pays."""

    account = FACILITATOR.address
    only_batched = False
    scheme: ClassVar[str]


class Settlement(PaidOperation):
    """Verify and settle at the facilitator, without a seller."""

    entrance = "facilitator"

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        for sale in sales:
            payment = market.shop.payment(sale.payer, PATHS[self.scheme])
            verified = market.facilitator.verify(payment, payment.accepted)
            # A seller may settle without having verified.
            settlement = market.facilitator.settle(payment, payment.accepted)
            sale.done = settlement.success
            if not verified.is_valid:
                sale.answer = f"verify: {verified.invalid_reason}"
            elif not settlement.success:
                sale.answer = f"settle: {settlement.error_reason}"
            else:
                sale.answer = ACCEPTED
            # A deposit is only the cover of later vouchers.
            is_sold = settlement.success and self.scheme != "channel"
            sale.goods = int(payment.accepted.amount) if is_sold else 0


class SettleExact(Settlement):
    """EIP-3009."""

    name = scheme = "exact"


class SettlePermit2(Settlement):
    """Permit2."""

    name = scheme = "permit2"


class SettleUpto(Settlement):
    """The whole maximum of `upto`."""

    name = scheme = "upto"


class SettleDeposit(Settlement):
    """The deposit of a payment channel."""

    name, scheme = "channel deposit", "channel"


class Purchase(PaidOperation):
    """A request to the seller with a payment."""

    entrance = "seller"

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        path = PATHS[self.scheme]
        for sale in sales:
            response = market.shop.buy(path, market.shop.payment(sale.payer, path))
            sale.done = response.status_code == httpx.codes.OK
            sale.answer = ACCEPTED if sale.done else reason_of(response)
            sale.goods = _GOODS[path] if sale.done else 0


class BuyExact(Purchase):
    """EIP-3009."""

    name = scheme = "exact"


class BuyRepeatedly(PaidOperation):
    """EIP-3009, and the same payment once more after its failed settlement is final."""

    name, entrance, scheme, repeats = "exact, repeated", "seller", "exact", True

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        path = PATHS[self.scheme]
        payments = [market.shop.payment(sale.payer, path) for sale in sales]
        for _ in range(2):
            for sale, payment in zip(sales, payments, strict=True):
                response = market.shop.buy(path, payment)
                sale.done = response.status_code == httpx.codes.OK
                sale.answer = ACCEPTED if sale.done else reason_of(response)
                sale.goods = PRICE if sale.done else 0
            market.settle()


class BuyPermit2(Purchase):
    """Permit2."""

    name = scheme = "permit2"


class BuyUpto(Purchase):
    """A part of the maximum of `upto`."""

    name = scheme = "upto"


class BuyByChannel(PaidOperation):
    """The deposit of a payment channel, two vouchers, and their claim."""

    name, entrance, scheme = "channel deposit and claim", "seller", "channel"

    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        for sale in sales:
            responses = market.shop.buy_ticks(sale.payer)
            delivered = [each for each in responses if each.status_code == httpx.codes.OK]
            sale.goods = TICK * len(delivered)
            sale.done = len(delivered) == VOUCHERS
            sale.answer = ACCEPTED if sale.done else reason_of(responses[-1])
        market.shop.claim()


def reason_of(response: httpx.Response) -> str:
    """Return the reason of a response without goods."""
    header = response.headers.get("payment-required")
    if header is None:
        return f"{response.status_code}: {response.json().get('error')}"
    return f"{response.status_code}: {decode_payment_required_header(header).error}"
