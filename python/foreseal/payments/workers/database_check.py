"""Check of the database: the values that /healthz and /metrics report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, and_, func, not_, or_, select
from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.api.models import DeliveryRecord, DeliveryState, WebhookRecord
from foreseal.payments.destinations.registry import Destinations
from foreseal.payments.ledger import REVERSIBLE, Database, OrderState
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.transactions import read_lost_gas
from foreseal.payments.workers.account_check import AccountCheck, WaitingAccount
from foreseal.payments.workers.process_registry import ProcessRegistry

# Seconds between two counts of orders without a destination.
_COUNT_INTERVAL = 60.0


@dataclass(frozen=True, slots=True)
class CheckedDatabase:
    """State of the database at the end of a check."""

    reachable: bool
    pending: int = 0
    """Deliveries of webhooks that wait."""
    dead: int = 0
    """Deliveries of webhooks whose attempts all failed."""
    processes: int = 0
    """Active processes."""
    without_destination: int = 0
    """Open orders whose destination is not configured."""
    waiting: Mapping[str, WaitingAccount] = field(default_factory=dict)
    """Accounts with a transaction that no block includes, by address."""
    code_lost_gas: int = 0
    """Gas within an hour of transactions that payers with code made revert."""


class OrdersWithoutDestination:
    """Count of open orders whose destination is not configured.

    Only a restart with another configuration changes the destinations, so the count is repeated rarely: it reads all
    open orders.
    """

    def __init__(self, destinations: Destinations, clock: Callable[[], float]) -> None:
        """Set up. `clock` is monotonic, in seconds."""
        configured = [
            and_(
                OrderRecord.token == each.merchant.domain.contract,
                OrderRecord.payee.in_(each.merchant.receivers),
            )
            for each in destinations
        ]
        open_ = or_(
            OrderRecord.state.in_((OrderState.DRAFTED, OrderState.SIGNED, OrderState.STORED, OrderState.VOIDED)),
            OrderRecord.state.in_((OrderState.CAPTURED, OrderState.CANCELED)) & OrderRecord.step.in_(REVERSIBLE),
        )
        self._query = select(func.count()).select_from(OrderRecord).where(open_, not_(or_(*configured)))
        self._clock = clock
        self._counted: float | None = None
        self._count = 0

    def count(self, tx: Connection) -> int:
        """Return the number, at most a minute old."""
        now = self._clock()
        if self._counted is None or now - self._counted >= _COUNT_INTERVAL:
            self._count = tx.execute(self._query).scalar_one()
            self._counted = now
        return self._count


class DatabaseCheck:
    """Check of one database."""

    def __init__(
        self,
        database: Database,
        processes: ProcessRegistry,
        clock: Callable[[], float],
        orders: OrdersWithoutDestination,
        accounts: AccountCheck,
        chain_id: int,
    ) -> None:
        """Set up the check. `clock` is Unix time in seconds."""
        self._orders = orders
        self._accounts = accounts
        self._chain_id = chain_id
        self._database = database
        self._processes = processes
        self._clock = clock

    def __call__(self) -> CheckedDatabase:
        """Check once. Raises nothing."""
        try:
            with self._database.reading() as tx:
                # Delivered ones are never deleted, so a count of all would grow without bound.
                open_ = DeliveryRecord.state.in_((DeliveryState.WAITING, DeliveryState.DEAD))
                # A retired target retains its dead deliveries.
                active = DeliveryRecord.webhook_id.in_(select(WebhookRecord.id).where(WebhookRecord.retired.is_(None)))
                query = select(DeliveryRecord.state, func.count()).where(open_, active)
                counts = dict(tx.execute(query.group_by(DeliveryRecord.state)).all())
                without_destination = self._orders.count(tx)
                accounts = self._accounts(tx)
                lost = read_lost_gas(tx, self._chain_id, self._clock())
            processes = self._processes.count(self._clock())
        except SQLAlchemyError:
            return CheckedDatabase(reachable=False)
        waiting, dead = counts.get(DeliveryState.WAITING, 0), counts.get(DeliveryState.DEAD, 0)
        return CheckedDatabase(True, waiting, dead, processes, without_destination, accounts, lost.by_code)
