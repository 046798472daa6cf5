"""Property: only the key that an order, refund or payout was made for signs its transactions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from foreseal.payments.ledger.models import AttemptRecord, OrderRecord, TransactionRecord
from payments.api.service_harness import ServiceHarness
from payments.api.signed_payments import payment
from payments.fake.blocks import decoded
from payments.fake.contracts import PAYOUTS, TOKEN, call_data
from payments.people import BATCH_CAPTURE, BRANCH
from payments.shop import BUYER, BUYERS, SHOP

KEYS = {"SHOP_KEY": SHOP.address, "BRANCH_KEY": BRANCH.address}


def further(name: str, key: str) -> str:
    return f'[[destinations]]\nname = "{name}"\npayouts = "{PAYOUTS}"\n[destinations.payee]\nkey_env = "{key}"\n'


# Key of the default destination, text after [serve], names of the destinations by their account.
CONFIGURATIONS: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("SHOP_KEY", further("branch", "BRANCH_KEY"), {SHOP.address: "default", BRANCH.address: "branch"}),
    ("BRANCH_KEY", further("old", "SHOP_KEY"), {BRANCH.address: "default", SHOP.address: "old"}),
    ("SHOP_KEY", "", {SHOP.address: "default"}),
    (
        "SHOP_KEY",
        f'batch_capture = "{BATCH_CAPTURE}"\n' + further("branch", "BRANCH_KEY"),
        {SHOP.address: "default", BRANCH.address: "branch"},
    ),
)
ACCOUNTS = st.sampled_from(sorted(KEYS.values()))
ACTIONS = st.one_of(
    st.tuples(st.just("configure"), st.sampled_from(range(len(CONFIGURATIONS)))),
    st.tuples(st.sampled_from(["store", "auto", "pay", "transfer", "payout"]), ACCOUNTS),
    st.tuples(st.sampled_from(["capture", "refund"]), st.integers(0, 7)),
    st.tuples(st.sampled_from(["settle", "return"]), st.none()),
)


class Player:
    """Actions on a service, with the account that must sign for each row."""

    def __init__(self, service: ServiceHarness) -> None:
        self.service = service
        self.names = CONFIGURATIONS[0][2]
        self.expected: dict[str, str] = {}
        self.orders: list[str] = []
        for account in (SHOP, BRANCH):
            funded = {account.address.lower(): 1_000}
            allowed = {(account.address.lower(), PAYOUTS): 10**9}
            service.chain.change(lambda state, funded=funded: state.balances.update(funded))
            service.chain.change(lambda state, allowed=allowed: state.allowances.update(allowed))

    def play(self, action: str, value: Any) -> None:
        getattr(self, f"_{action}")(value)

    def _configure(self, number: int) -> None:
        key, more, self.names = CONFIGURATIONS[number]
        self.service.configure(more, key)
        self.service.restart()

    def _post(self, path: str, body: Any) -> Any:
        response = self.service.request("POST", path, body)
        assert response.status_code < 500, response.text
        return response.json() if response.status_code < 300 else None

    def _new(self, account: str, prefix: str) -> str:
        id = f"{prefix}{len(self.expected)}"
        self.expected[id] = account
        return id

    def _order(self, account: str, **more: Any) -> None:
        if account in self.names:
            id = self._new(account, "o")
            self.service.stored(id, 10, BUYERS[1], destination=self.names[account], **more)
            self.orders.append(id)

    def _store(self, account: str) -> None:
        self._order(account)

    def _auto(self, account: str) -> None:
        """Create an order that the worker captures later, perhaps with another configuration."""
        self._order(account, auto_capture=True, valid_after=self.service.pending_time() + 30)

    def _pay(self, account: str) -> None:
        if account in self.names:
            id = self._new(account, "p")
            body = payment(self.service, id, 10, BUYERS[2], destination=self.names[account])
            assert self._post("/v1/payments/batch", {"payments": [body]})["items"][0]["status"] == 201
            self.orders.append(id)

    def _transfer(self, account: str) -> None:
        data = call_data("transfer(address,uint256)", account, 5)
        self.service.chain.inject(BUYER.address.lower(), TOKEN, data)

    def _payout(self, account: str) -> None:
        if account in self.names:
            body = {"recipients": [{"recipient": BUYER.address, "amount": "1"}], "destination": self.names[account]}
            made = self._post("/v1/payouts", body)
            if made is not None:
                self.expected[made["payout"]["id"]] = account

    def _capture(self, number: int) -> None:
        for id in self.orders[number : number + 1]:
            self._post(f"/v1/orders/{id}/capture", {})

    def _refund(self, number: int) -> None:
        for order in self.orders[number : number + 1]:
            id = self._new(self.expected[order], "r")
            self._post(f"/v1/orders/{order}/refunds", {"id": id, "amount": "1"})

    def _return(self, _: None) -> None:
        """Refund every unmatched transfer."""
        for each in self.service.get("/v1/unmatched-transfers")["items"]:
            account = SHOP.address if each["payee"] == BATCH_CAPTURE else each["payee"]
            id = self._new(account, "t")
            self._post(f"/v1/unmatched-transfers/{each['transaction_hash']}/{each['position']}/refund", {"id": id})

    def _settle(self, _: None) -> None:
        self.service.settle()

    def check(self) -> None:
        """Compare the signers of all stored transactions with the expected ones."""
        orders = select(OrderRecord.capture_batch, OrderRecord.id).where(OrderRecord.capture_batch.is_not(None))
        sent = select(TransactionRecord.subject, TransactionRecord.sender, AttemptRecord.raw).join(
            AttemptRecord, AttemptRecord.transaction_id == TransactionRecord.id
        )
        with self.service.database.reading() as tx:
            batches = {batch: self.expected[id] for batch, id in tx.execute(orders).all() if batch is not None}
            rows = tx.execute(sent).all()
        for subject, sender, raw in rows:
            account = batches.get(subject) or self.expected[subject]
            assert (sender, decoded(bytes(raw)).sender) == (account, account.lower()), subject


@given(st.lists(ACTIONS, min_size=6, max_size=14))
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_only_the_key_of_a_row_signs_its_transactions(
    sqlite: Callable[[], str], tmp_path: Path, actions: list[tuple[str, Any]]
) -> None:
    key, more, _ = CONFIGURATIONS[0]
    assert key == "SHOP_KEY"
    service = ServiceHarness(sqlite(), tmp_path, more)
    try:
        player = Player(service)
        for account in sorted(KEYS.values()):
            player.play("store", account)
            player.play("pay", account)
        for action, value in actions:
            player.play(action, value)
        player.play("configure", 0)
        player.play("settle", None)
        player.check()
        assert service.get("/v1/balance")["faults"] == []
    finally:
        service.close()
