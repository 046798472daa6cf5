"""Caps under concurrency: buyers in threads and in processes on one database never exceed a cap."""

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from x402.mechanisms.evm.batch_settlement.client.storage import BatchSettlementClientContext

from foreseal.payments.ledger import Finality, PurchaseState, TransitionNotAllowed, Trigger, UnknownRecord
from foreseal.payments.x402.buyer import OutcomeUnknown, PurchaseRejected
from foreseal.payments.x402.buyer.channels import BuyerChannels
from foreseal.payments.x402.buyer.purchases import PurchaseOutcome
from foreseal.payments.x402.payment_key import Payment, PaymentKey
from payments.shop import BUYER
from payments.x402.budgets import DAY_CAP, SESSION_CAP, intent, offer
from payments.x402.buyers import Buyers
from payments.x402.seller_double import PAYEE, TOKEN


def signed(nonce: int) -> Payment:
    key = PaymentKey(84532, TOKEN, BUYER.address, nonce.to_bytes(32, "big"))
    return Payment(key, TOKEN, PAYEE, 100, 2_000_000_000)


@dataclass(frozen=True)
class Act:
    """One purchase by a buyer, and its outcome."""

    session: str
    amount: int
    end: str

    def play(self, buyers: Buyers) -> None:
        try:
            id = buyers.purchases.reserve(offer(self.amount), intent(self.amount, self.session))
        except PurchaseRejected as error:
            [refusal] = error.refusals
            # A purchase that fits is never rejected.
            assert refusal.committed is not None
            assert refusal.cap is not None
            assert refusal.committed <= refusal.cap < refusal.committed + self.amount
            return
        if self.end == "unsigned":
            buyers.purchases.conclude(id, PurchaseOutcome(Trigger.UNSENT), unless_presented=True)
            return
        buyers.purchases.present(id, signed(1))
        if self.end == "spent":
            buyers.purchases.conclude(id, PurchaseOutcome(Trigger.PAID, self.amount))
        elif self.end == "less":
            buyers.purchases.conclude(id, PurchaseOutcome(Trigger.PAID, self.amount // 2))
        elif self.end == "refused":
            buyers.purchases.conclude(id, PurchaseOutcome(Trigger.REFUSED))


ACTS = st.builds(
    Act,
    st.sampled_from("ab"),
    st.integers(0, 600),
    st.sampled_from(["unsigned", "spent", "less", "refused", "unknown"]),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans=st.lists(st.lists(ACTS, min_size=2, max_size=5), min_size=3, max_size=4))
def test_concurrent_threads_never_exceed_a_cap(new_url: Callable[[], str], plans: list[list[Act]]) -> None:
    buyers = Buyers(new_url())
    together = threading.Barrier(len(plans) + 1)
    failures: list[BaseException] = []
    over = threading.Event()

    def noted(work: Callable[[], None]) -> None:
        try:
            together.wait(30)
            work()
        except BaseException as error:  # a thread's failure would be lost
            failures.append(error)

    def buy(plan: list[Act]) -> None:
        for act in plan:
            act.play(buyers)

    def check_until_over() -> None:
        while not over.is_set():
            check(buyers)

    threads = [threading.Thread(target=noted, args=(partial(buy, plan),)) for plan in plans]
    watcher = threading.Thread(target=noted, args=(check_until_over,))
    for thread in (*threads, watcher):
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    watcher.join()
    try:
        assert failures == []
        check(buyers)
    finally:
        buyers.close()


def check(buyers: Buyers) -> None:
    for period, units in buyers.committed().items():
        assert units <= (SESSION_CAP if period.startswith("session") else DAY_CAP), period


_PROCESS = """
import sys
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.x402.buyer import PurchaseRejected, Purchases
from payments.x402.budgets import intent, offer
purchases = Purchases(Ledger(Database(sys.argv[1]), lambda: 1_700_000_000))
print("ready", flush=True)
sys.stdin.readline()
for _ in range(10):
    try:
        print(purchases.reserve(offer(100), intent(100)))
    except PurchaseRejected as error:
        print(error)
"""


def test_concurrent_processes_never_exceed_a_persistent_cap(buyers: Buyers) -> None:
    command = [sys.executable, "-c", _PROCESS, buyers.url]
    environment = {"PYTHONPATH": ":".join(sys.path)}
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    other.stdin.write("\n")
    other.stdin.flush()
    lines: list[str] = []
    for _ in range(10):
        try:
            lines.append(buyers.purchases.reserve(offer(100), intent(100)))
        except PurchaseRejected as error:
            lines.append(str(error))
    lines += other.communicate(timeout=60)[0].splitlines()
    assert other.returncode == 0
    assert sum(len(line) == 32 for line in lines) == 10
    assert sum("per session: 100 units" in line and "1000 of 1000" in line for line in lines) == 10
    assert buyers.committed() == {"session a": 1000, "day 2023-11-14": 1000}


def test_one_of_two_concurrent_requests_is_signed(buyers: Buyers) -> None:
    together, answers = threading.Barrier(4), []

    def work() -> None:
        together.wait(30)
        try:
            answers.append(buyers.purchases.reserve(offer(100), intent(100, open_key="k")))
        except OutcomeUnknown as error:
            answers.append(f"open: {error.purchase}")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [id] = [answer for answer in answers if not answer.startswith("open")]
    assert answers.count(f"open: {id}") == 3
    assert buyers.day() == 100


def test_concurrent_channel_updates_are_all_stored(buyers: Buyers) -> None:
    channels, known = BuyerChannels(buyers.database, BUYER.address), BatchSettlementClientContext(balance="500")
    together = threading.Barrier(4)

    def learn() -> None:
        for number in range(5):
            together.wait(30)
            channels.set(f"0x{number}", known)

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [channels.get(f"0x{number}") for number in range(5)] == [known] * 5


def test_chain_outcome_overrides_the_seller_report(buyers: Buyers) -> None:
    id = buyers.purchases.reserve(offer(100), intent(100, open_key="k"))
    buyers.purchases.present(id, signed(1))
    assert buyers.purchases.conclude(id, PurchaseOutcome(Trigger.REFUSED))
    assert not buyers.purchases.conclude(id, PurchaseOutcome(Trigger.PAID, 100))
    assert buyers.day() == 0
    assert buyers.purchases.conclude(id, PurchaseOutcome(Trigger.SPENT, 100, "0x1"))  # it was settled all the same
    assert not buyers.purchases.conclude(id, PurchaseOutcome(Trigger.UNSPENT))
    row = buyers.purchases.get(id)
    assert (row.state, row.step, row.settled, row.transaction_hash) == (PurchaseState.SPENT, Finality.FINAL, 100, "0x1")
    assert buyers.day() == 100


def test_released_purchase_cannot_be_presented(buyers: Buyers) -> None:
    id = buyers.purchases.reserve(offer(100), intent(100))
    buyers.purchases.conclude(id, PurchaseOutcome(Trigger.UNSENT), unless_presented=True)
    with pytest.raises(TransitionNotAllowed, match=r"Returned \(final\): signature is presented is not allowed"):
        buyers.purchases.present(id, signed(1))
    presented = buyers.purchases.reserve(offer(100), intent(100))
    buyers.purchases.present(presented, signed(2))
    assert not buyers.purchases.conclude(presented, PurchaseOutcome(Trigger.UNSENT), unless_presented=True)
    assert buyers.day() == 100


def test_spent_amount_never_exceeds_the_signed_amount(buyers: Buyers) -> None:
    id = buyers.purchases.reserve(offer(100), intent(100))
    buyers.purchases.present(id, signed(1))
    with pytest.raises(ValueError, match="settled: 101 units"):
        buyers.purchases.conclude(id, PurchaseOutcome(Trigger.PAID, 101))
    with pytest.raises(UnknownRecord, match="purchases: no row has the id x"):
        buyers.purchases.get("x")
    assert buyers.day() == 100
