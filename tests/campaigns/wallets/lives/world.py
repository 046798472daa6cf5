"""One life: merchant, facilitator and seller on one chain and database, their payers, and what was delivered."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from x402.schemas import PaymentPayload, PaymentRequirements

from foreseal.payments.chain import ChainError
from foreseal.payments.ledger import LedgerError
from foreseal.payments.orders.cancellations import NotCancelable
from foreseal.payments.orders.capture_checks import NotCapturable
from foreseal.payments.orders.payers import PayerMismatch
from foreseal.payments.orders.reconciler import NotExpired
from foreseal.payments.signatures import InvalidSignature
from foreseal.payments.transactions import SendingError
from foreseal.payments.x402.facilitator.settlements import AlreadySettling
from foreseal.payments.x402.payment_key import granted
from payments.people import BATCH_CAPTURE
from payments.real.chain import RealChain
from payments.shop import Killed, Shop
from wallets.kinds import KINDS, Form, PendingHead, WalletKind
from wallets.market import fund
from wallets.paid_services import PaidServices, chains_at
from wallets.paid_shop import PATHS
from wallets.people import Payer, payer
from wallets.switches import Switches

FINALITY = 8
WALLETS = 4
"""Wallets of a life, in addition to an account with a key."""
REJECTIONS = (
    LedgerError,
    ChainError,
    SendingError,
    NotCapturable,
    NotCancelable,
    NotExpired,
    PayerMismatch,
    InvalidSignature,
    AlreadySettling,
    TimeoutError,
)
"""Errors of a rejected operation; any other is a fault."""


@dataclass(frozen=True, slots=True)
class Wallet:
    """A payer of a life."""

    payer: Payer
    name: str
    """Name of its kind."""

    @property
    def kind(self) -> WalletKind:
        return KINDS[self.name]


@dataclass(slots=True)
class Delivery:
    """Goods that the seller delivered for a payment."""

    payment: PaymentPayload
    goods: int
    """Price in smallest units."""
    run: int
    """Ordinal of the handler's run that made them."""
    block: int
    """Pending block at the time of the delivery."""
    is_exposed: bool = False
    """True if a reorganization undid the payment afterwards, for which the seller has no guarantee."""

    @property
    def payer(self) -> str:
        return granted(self.payment).key.payer

    @property
    def nonce(self) -> bytes:
        return granted(self.payment).key.nonce


class World:
    """Everything of one life. `restart` is a new process of each service on the same database."""

    def __init__(self, url: str, seed: int, clock: int) -> None:
        self.draw = random.Random(seed)
        self.counted: Counter[str] = Counter()
        contract = self.draw.choice([None, BATCH_CAPTURE])
        self.shop = Shop(url, finality=FINALITY, chains=chains_at(clock), batch_capture=contract)
        self.chain: RealChain = self.shop.chain
        self.switches = Switches(self.chain, self.shop.node)
        pending = self.chain.pending
        self.pending_head = PendingHead(pending.number, pending.time)
        self.wallets = [
            self._new_wallet(0, "key"),
            *(self._new_wallet(n, self._any_kind()) for n in range(1, WALLETS + 1)),
        ]
        # No reorganization undoes the wallets.
        self.chain.mine(FINALITY + 1)
        self.paid = self._paid_services()
        self.demands: dict[str, PaymentRequirements] = {path: self.paid.shop.demand(path) for path in PATHS.values()}
        self.made = 0
        """Orders so far."""
        self.payments: list[tuple[str, PaymentPayload]] = []
        """Payments that were sent to the seller, by path."""
        self.deliveries: dict[str, Delivery] = {}
        """Deliveries by the key of their payment."""
        self.repeated: list[str] = []
        """Payments for which the seller delivered results of different runs."""
        self.ticks = 0
        """Requests that were delivered for vouchers of channels."""
        self.shared: set[str] = set()
        """Orders whose nonce also pays a response of the seller."""

    def close(self) -> None:
        self.shop.close()

    def restart(self) -> None:
        self.shop.restart()
        self.paid = self._paid_services()

    def act(self, action: Callable[[], object], death: int | None = None) -> None:
        """Call like a client that survives the process, which dies at the crash point with this ordinal, if any."""
        self.shop.crashes.arm(after=death)
        try:
            action()
        except Killed as killed:
            self.counted[f"killed: {killed.args[0].name}"] += 1
            self.shop.crashes.arm()
            self.restart()
        except REJECTIONS as error:
            self.counted[f"rejected: {type(error).__name__}"] += 1
        finally:
            self.shop.crashes.arm()

    def hostile(self, wallet: Wallet, action: Callable[[], object], death: int | None = None) -> None:
        """Call an operation of a wallet, which may change between its check and its transaction."""
        if self.draw.random() < 0.6:
            self.switches.arm(wallet.payer, wallet.kind, self.pending_head)
        try:
            self.act(action, death)
        finally:
            self.switches.disarm()

    def work(self) -> None:
        """Run one round of the periodic work of all services."""
        self.shop.go_on()
        self.paid.shop.follow()

    def wallet_of(self, address: str | None) -> Wallet | None:
        return next((each for each in self.wallets if each.payer.address == address), None)

    def _new_wallet(self, number: int, name: str) -> Wallet:
        made = payer(number + 1, is_contract=KINDS[name].form is Form.CONTRACT)
        fund(self.chain, made)
        self.switches.install(made, KINDS[name], self.pending_head)
        return Wallet(made, name)

    def _any_kind(self) -> str:
        """Return a kind of wallet; most are honest."""
        is_honest = self.draw.random() < 0.6
        return self.draw.choice([name for name, kind in KINDS.items() if kind.honest is is_honest])

    def _paid_services(self) -> PaidServices:
        return PaidServices(self.shop.ledger, self.shop.node, self.chain)
