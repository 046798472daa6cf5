"""Environment of the demo: the merchant's ledger, a buyer, and a chain with a movable clock."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeVar

from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address

from foreseal.payments.chain import ChainError, ConfirmationPolicy, NoResponse, RpcNode, Token
from foreseal.payments.chain.rpc_node import BatchClient
from foreseal.payments.contracts.development import CHECKOUT, FUNDS, NAME, TOKEN, VERSION, DevelopmentContracts
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.disbursements.refunds import Refunds
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import Orders
from foreseal.payments.orders.cancellations import Cancellations
from foreseal.payments.orders.captures import Captures
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.transactions import LocalSigner, TransactionIntents, TransactionSender, building_head
from foreseal.payments.transfers.settings import WatcherSettings
from foreseal.payments.transfers.watcher import TransferWatcher
from foreseal.payments.typed_data import Domain, TypedMessage

T = TypeVar("T")
# Selector of the checkout's merchant().
_MERCHANT = bytes.fromhex("a5ff7651")
# Number of polls before an awaited event counts as missing.
_MAX_POLLS = 1_000


class NotDevelopment(Exception):
    """The node is not a `foreseal dev --payments` with these accounts."""


class DemoEnvironment:
    """The merchant of a development chain, a buyer, and the chain's clock."""

    def __init__(
        self,
        requests: BatchClient,
        database: Database,
        accounts: Sequence[LocalAccount],
        pause: Callable[[], None],
        seconds: Callable[[], float],
    ) -> None:
        """Connect to the chain and check its contracts.

        `accounts` are the development chain's accounts in order, at least four. `pause` lets the node advance,
        `seconds` measures delays. Raises `NotDevelopment` and the node's errors.
        """
        people = DevelopmentContracts.from_accounts([account.address for account in accounts])
        by_address: dict[str, LocalAccount] = {account.address: account for account in accounts}
        self._requests = requests
        self.pause = pause
        self.seconds = seconds
        self.node = RpcNode(requests)
        self.key, self.buyer = by_address[people.merchant], by_address[people.buyers[0]]
        self._check()
        self.sent_at = 0.0
        """Time, by `seconds`, just before the last capture was sent."""
        self.ledger = Ledger(database, self.now, self._passed)
        self.merchant = Merchant(
            Domain(NAME, VERSION, self.node.chain_id(), TOKEN), self.key.address, checkout=CHECKOUT
        )
        policy = ConfirmationPolicy()
        sender = TransactionSender(
            self.ledger, self.node, TransactionIntents(self.merchant.domain.chain_id, LocalSigner(self.key)), policy
        )
        self.orders = Orders(self.ledger, self.node, self.merchant)
        self.captures = Captures(self.ledger, sender, self.merchant)
        self.cancellations = Cancellations(self.ledger, sender, self.merchant)
        self.progress = OrderReconciler(self.ledger, sender, self.merchant)
        self.refunds = Refunds(self.ledger, sender, self.merchant)
        start = max(0, self.number("latest"))
        watch = WatcherSettings(self.merchant.domain.chain_id, TOKEN, self.merchant.payee, start, policy)
        self.watcher = TransferWatcher(self.ledger, self.node, watch)

    def now(self) -> int:
        """Return the time of the pending block in seconds since 1970."""
        return building_head(self.node).timestamp

    def number(self, name: str) -> int:
        """Return the number of a block; -1 if it does not exist."""
        head = self.node.head(name)
        return -1 if head is None else head.number

    def signed(self, message: TypedMessage) -> bytes:
        """Sign a message as the buyer."""
        return message.sign(self.merchant.domain, bytes(self.buyer.key))

    def mine(self, blocks: int = 1) -> None:
        """Seal this many blocks now."""
        self._requests.request("anvil_mine", hex(blocks))

    def pass_time(self, seconds: int) -> None:
        """Advance the chain's clock."""
        self._requests.request("evm_increaseTime", seconds)

    def finalize(self) -> None:
        """Seal blocks until the current block is final. Raises `NotDevelopment` if it never is."""
        self.mine()
        target = self.number("latest")
        for _ in range(_MAX_POLLS):
            if self.number("finalized") >= target:
                return
            self.mine(max(1, target - self.number("finalized")))
        raise NotDevelopment("no block becomes final")

    def until(self, poll: Callable[[], T | None], what: str) -> T:
        """Poll until `poll` returns a result. Raises `NotDevelopment` with `what` if it never does."""
        for _ in range(_MAX_POLLS):
            polled = poll()
            if polled:
                return polled
            self.pause()
        raise NotDevelopment(f"{what}: timeout after {_MAX_POLLS} polls")

    def _check(self) -> None:
        """Raise `NotDevelopment` if the chain lacks the payment contracts or has other accounts."""
        try:
            merchant = to_checksum_address(self.node.call(CHECKOUT, _MERCHANT, "latest")[-20:])
            funds = Token(self.node, TOKEN).balance(self.buyer.address, "pending")
        except NoResponse:
            raise
        except (ChainError, ValueError):
            raise NotDevelopment("no payment contracts: start it with `foreseal dev --payments`") from None
        if merchant != self.key.address:
            raise NotDevelopment(f"the checkout's merchant is {merchant}: start the node with the usual --mnemonic")
        if funds < FUNDS // 1000:
            raise NotDevelopment(f"the buyer {self.buyer.address} has only {funds} units: start a new chain")

    def _passed(self, point: StrEnum) -> None:
        if point is CrashPoint.CAPTURE_STORED:
            self.sent_at = self.seconds()
