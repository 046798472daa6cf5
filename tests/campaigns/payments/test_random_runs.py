"""Random lives of a merchant: decisions, reorganizations, lost responses, crashes at any crash point.

After every operation the tables conserve money. At the end of every run, once no fault is active, they match the chain:
0 double captures, 0 double refunds, 0 lost payments. FORESEAL_PAYMENT_RUNS=1000 is the long form.
"""

import contextlib
import itertools
import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import func, select

from foreseal.payments.chain import ChainError
from foreseal.payments.ledger import DisbursementState, Finality, LedgerError, OrderState, TransitionNotAllowed
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.ledger.states import IN_FLIGHT
from foreseal.payments.orders.cancellations import NotCancelable
from foreseal.payments.orders.capture_checks import NotCapturable
from foreseal.payments.orders.payers import PayerMismatch
from foreseal.payments.orders.reconciler import NotExpired
from foreseal.payments.orders.terms import memo, message, permit
from foreseal.payments.transactions import SendingError
from payments.fake.contracts import BATCH, TOKEN, State, call_data, selector
from payments.order_amounts import captured_amount
from payments.people import BATCH_CAPTURE
from payments.real.node import make_node_chain
from payments.scan import Movement, canceled, incoming, is_sweep, paid
from payments.shop import BUYERS, FUNDS, SHOP, Chains, Killed, Shop, make_fake_chain

RUNS = int(os.environ.get("FORESEAL_PAYMENT_RUNS", "12"))
STEPS = 50
FINALITY = 24
# Runs are long: a failure is reproduced from its blob, and shrunk only on request.
PHASES = tuple(Phase) if "FORESEAL_PAYMENT_SHRINK" in os.environ else (Phase.explicit, Phase.generate)

# Rejections must be one of these errors; any other error is a fault.
REFUSED = (LedgerError, ChainError, SendingError, NotCapturable, NotCancelable, NotExpired, PayerMismatch)
LOSABLE = (
    "eth_sendRawTransaction",
    "eth_getTransactionReceipt",
    "eth_getLogs",
    "eth_getBlockByNumber",
    "eth_call",
    "eth_estimateGas",
)
STRANGER = "0x" + "99" * 20

which = st.integers(0, 7)
# Crash point of an operation at which the process dies, if any.
deaths = st.sampled_from([None, None, None, *range(8)])
buyers = st.sampled_from(BUYERS)


class Life(RuleBasedStateMachine):
    """One run. `counted` counts the reached states of all runs."""

    new_url: Callable[[], str]
    chains: Chains
    counted: Counter[str]
    batch_capture: str | None = None

    def __init__(self) -> None:
        super().__init__()
        chains, contract = type(self).chains, self.batch_capture
        self.shop = Shop(type(self).new_url(), finality=FINALITY, chains=chains, batch_capture=contract)
        self.made = 0
        # Orders whose payer may have used its nonce by a transfer of his own, at any time.
        self.paid_directly: set[str] = set()

    def act(self, action: Callable[[], object], death: int | None = None) -> None:
        """Call like a client that survives the process."""
        self.shop.crashes.arm(after=death)
        try:
            action()
        except Killed as killed:
            self.counted[f"killed: {killed.args[0].name}"] += 1
            self.shop.restart()
        except REFUSED:
            pass
        finally:
            self.shop.crashes.arm()

    def order(self, number: int) -> str:
        return f"o{number % self.made}" if self.made else "none"

    @initialize(buyer=buyers, amount=st.integers(1, FUNDS // 4))
    def open(self, buyer: LocalAccount, amount: int) -> None:
        self.authorize(buyer, amount, 10**6)
        self.authorize(buyer, amount, 600)
        self.draft_unassigned(amount, 10**6)
        self.accept(0, buyer, buyer, None)

    @rule(buyer=buyers, amount=st.integers(1, FUNDS // 4), seconds=st.sampled_from([90, 150, 600, 10**6]))
    def authorize(self, buyer: LocalAccount, amount: int, seconds: int) -> None:
        id = f"o{self.made}"
        with contextlib.suppress(ChainError):
            self.shop.draft(id, amount, buyer=buyer, seconds=seconds)
            self.made += 1
            order = self.shop.orders.get(id)
            self.act(lambda: self.shop.orders.sign(id, self._signature(order, buyer)))
            self.act(lambda: self.shop.orders.store(id))

    def _signature(self, order: OrderRecord, buyer: LocalAccount) -> bytes:
        return self.shop.signed(message(order), buyer)

    @rule(amount=st.integers(1, FUNDS // 4), seconds=st.sampled_from([90, 150, 600, 10**6]))
    def draft_unassigned(self, amount: int, seconds: int) -> None:
        """Create an order without payer, for the rules to sign, pay, void or let expire."""
        id = f"o{self.made}"
        with contextlib.suppress(ChainError):
            self.shop.unassigned(id, amount, seconds=seconds)
            self.made += 1

    @rule(number=which, buyer=buyers, other=buyers, death=deaths)
    def accept(self, number: int, buyer: LocalAccount, other: LocalAccount, death: int | None) -> None:
        """Sign an order without payer as two wallets. At most one becomes the payer. Then capture it."""
        id = self._unassigned(number)
        if id is None:
            return
        for each in (buyer, other):
            self.act(partial(self.shop.accept, id, each))
        payer = self.shop.orders.get(id).payer
        assert payer in (None, buyer.address, other.address)
        if payer is not None:
            self.counted["payer assigned"] += 1
            self.capture(number, death)
            assert self.shop.orders.get(id).payer == payer

    @rule(number=which, buyer=buyers, exact=st.booleans())
    def pay_directly(self, number: int, buyer: LocalAccount, *, exact: bool) -> None:
        """Use the nonce of an order without payer on the chain, before any signature."""
        id = self._unassigned(number)
        if id is not None:
            order = self.shop.orders.get(id)
            self.shop.pay_directly(id, buyer, amount=order.amount if exact else order.amount + 1)
            self.paid_directly.add(id)

    def _unassigned(self, number: int) -> str | None:
        drafted = self.shop.in_state(OrderState.DRAFTED)
        ids = [id for id in drafted if self.shop.orders.get(id).payer is None]
        return ids[number % len(ids)] if ids else None

    @rule(number=which, death=deaths)
    def capture(self, number: int, death: int | None) -> None:
        """Capture the full amount, also of a maximum."""
        id = self.order(number)
        self.act(lambda: self.shop.captures.capture(id, self.shop.orders.get(id).amount), death)

    @rule(number=which, death=deaths)
    def capture_in_time(self, number: int, death: int | None) -> None:
        """Capture without a crash, the usual case."""
        self.capture(number, None)
        self.shop.chain.mine()
        self.go_on(death)

    @rule(number=which, relayed=st.booleans(), death=deaths)
    def void(self, number: int, death: int | None, *, relayed: bool) -> None:
        id = self.order(number)
        self.act(lambda: self.shop.orders.void(id), None if relayed else death)
        if relayed:
            self.act(lambda: self.shop.cancel(id, self._buyer(id)), death)

    @rule(number=which, relayed=st.booleans(), death=deaths)
    def cancel(self, number: int, death: int | None, *, relayed: bool) -> None:
        id = self.order(number)
        if relayed:
            self.act(lambda: self.shop.cancel(id, self._buyer(id)), death)
        elif self.shop.orders.get(id).checkout is None and self.shop.orders.get(id).payer is not None:
            self.shop.payer_cancels(id, self._buyer(id))

    def _buyer(self, id: str) -> LocalAccount:
        payer = self.shop.orders.get(id).payer
        return next((each for each in BUYERS if each.address == payer), BUYERS[0])

    @rule(number=which, death=deaths)
    def expire(self, number: int, death: int | None) -> None:
        self.act(lambda: self.shop.progress.expire(self.order(number)), death)

    @rule(number=which, key=st.integers(0, 3), part=st.integers(1, 4), death=deaths)
    def refund(self, number: int, key: int, part: int, death: int | None) -> None:
        id = self.order(number)
        amount = max(1, (captured_amount(self.shop.orders.get(id)) or 1) * part // 4)
        self.act(lambda: self.shop.refunds.refund(f"{id} {key}", id, amount), death)

    @rule(death=deaths)
    def go_on(self, death: int | None) -> None:
        self.act(self.shop.go_on, death)

    @rule(key=st.integers(0, 3), part=st.integers(1, 4), death=deaths)
    def finish(self, key: int, part: int, death: int | None) -> None:
        """Capture stored orders; a day later customers want refunds."""
        for id in self.shop.in_state(OrderState.STORED):
            self.capture(int(id[1:]), death)
        self.go_on(death)
        self.shop.chain.mine(FINALITY + 1)
        self.go_on(None)
        for id in self.shop.in_state(OrderState.CAPTURED):
            self.refund(int(id[1:]), key, part, death)
        for id in self.shop.in_state(OrderState.STORED, OrderState.VOIDED):
            self.expire(int(id[1:]), death)

    @rule(death=deaths)
    def watch(self, death: int | None) -> None:
        self.act(self.shop.watcher.poll, death)

    @rule(number=which, buyer=buyers, amount=st.integers(0, 1000), named=st.booleans())
    def pay(self, number: int, buyer: LocalAccount, amount: int, *, named: bool) -> None:
        self.shop.pay(amount, memo(self.order(number)) if named else None, buyer=buyer)

    @rule(buyer=buyers)
    def spend(self, buyer: LocalAccount) -> None:
        """Spend a buyer's money elsewhere before the capture."""
        holder = buyer.address.lower()
        balance = self.shop.chain.pending.state.balances[holder]
        data = call_data("transfer(address,uint256)", STRANGER, balance)
        self.shop.chain.inject(holder, TOKEN, data)

    @rule(blocks=st.sampled_from([0, 1, 2, 12]), seconds=st.sampled_from([0, 0, 10, 100, 700]))
    def mine(self, blocks: int, seconds: int) -> None:
        """Advance time; without a block, executable transactions are pre-confirmed."""
        self.shop.chain.advance(seconds)
        self.shop.chain.mine(blocks)
        self.shop.chain.step()

    @rule(depth=st.sampled_from([1, 3, 13, 20]), dropped=st.booleans(), late=st.integers(0, 4))
    def reorganize(self, depth: int, late: int, *, dropped: bool) -> None:
        self.shop.chain.reorganize(depth, dropped=dropped, late=late)

    @rule(buyer=buyers, forbidden=st.booleans(), paused=st.sampled_from([False, False, True]))
    def rule_over(self, buyer: LocalAccount, *, forbidden: bool, paused: bool) -> None:
        """Change the token as its owner."""
        holder = buyer.address.lower()

        def change(state: State) -> None:
            state.paused = paused
            state.blacklisted = {holder} if forbidden else set()

        self.shop.chain.change(change)

    @rule(method=st.sampled_from(LOSABLE), executed=st.booleans(), dropped=st.booleans())
    def lose(self, method: str, *, executed: bool, dropped: bool) -> None:
        """Inject faults of networks and nodes."""
        self.shop.node.losses.append((method, executed))
        if dropped:
            self.shop.chain.drop()

    @rule()
    def restart(self) -> None:
        self.shop.restart()

    @invariant()
    def money_is_conserved(self) -> None:
        assert self.shop.balance().faults == ()

    def teardown(self) -> None:
        try:
            self.settle()
            self.compare()
        finally:
            self.shop.close()

    def settle(self) -> None:
        """Stop all faults and complete everything in flight."""
        shop, chain = self.shop, self.shop.chain
        shop.crashes.arm()
        shop.node.losses.clear()
        for _ in range(6):
            chain.change(lambda state: setattr(state, "paused", False))
            chain.change(lambda state: state.blacklisted.clear())
            shop.progress.resume()
            shop.refunds.resume()
            shop.watcher.poll()
            chain.mine(FINALITY + 1)
        chain.advance(2 * 10**6)
        chain.mine(FINALITY + 1)
        for id in shop.in_state(*OrderState):
            # The same call reports an earlier capture.
            with contextlib.suppress(NotExpired, TransitionNotAllowed):
                shop.progress.expire(id)

    def compare(self) -> None:
        """Compare the tables with the chain."""
        shop = self.shop
        came, went, ended = incoming(shop.chain), paid(shop.chain), canceled(shop.chain)
        assert shop.rows() == {each.row() for each in came}
        assert shop.balance().received == sum(each.amount for each in came if not is_sweep(each))
        used = Counter((each.sender, each.nonce) for each in came if each.nonce is not None)
        assert not used or max(used.values()) == 1
        captured = 0
        for id in (f"o{number}" for number in range(self.made)):
            order = shop.orders.get(id)
            key = (order.payer or "").lower(), order.nonce
            self.counted[order.state] += 1
            self.counted["captured by a permit"] += order.checkout is not None and order.state is OrderState.CAPTURED
            if id in self.paid_directly and order.payer is not None:
                # A transfer of the payer may come after the order has ended, or have another amount.
                self.counted["paid directly"] += order.state is OrderState.CAPTURED
                assert order.state is not OrderState.CAPTURED or key in used, id
            else:
                assert (order.state is OrderState.CAPTURED) == (key in used), id
            if key in ended:
                # A payer may cancel an order that expired before.
                assert order.state in (OrderState.CANCELED, OrderState.EXPIRED), id
            else:
                assert order.state is not OrderState.CANCELED, id
            if order.state in (OrderState.CAPTURED, OrderState.CANCELED):
                assert order.step is Finality.FINAL, id
            assert order.step not in IN_FLIGHT, id
            if order.state is OrderState.CAPTURED:
                amount = captured_amount(order)
                assert amount is not None, id
                captured += amount
        assert shop.balance().captured == captured
        self._compare_refunds(went)

    def _compare_refunds(self, went: list[Movement]) -> None:
        shop = self.shop
        promised: Counter[tuple[str, int]] = Counter()
        for number in range(self.made):
            for refund in shop.refunds_of(f"o{number}"):
                self.counted[refund.state] += 1
                assert refund.state in (DisbursementState.COMPLETE, DisbursementState.BLOCKED), refund
                if refund.state is DisbursementState.COMPLETE:
                    assert refund.step is Finality.FINAL
                    promised[refund.recipient, refund.amount] += 1
        refunds = Counter((to_checksum_address(each.recipient), each.amount) for each in went)
        assert refunds == promised
        assert SHOP.address not in {recipient for recipient, _ in refunds}


class LifeWithPermits(Life):
    """Runs with orders of a variable amount, whose checkout the chain in memory lacks."""

    @rule(buyer=buyers, maximum=st.integers(1, FUNDS // 4), seconds=st.sampled_from([150, 600, 10**6]))
    def permit(self, buyer: LocalAccount, maximum: int, seconds: int) -> None:
        id = f"o{self.made}"
        terms = self.shop.permit_terms(maximum, buyer=buyer, seconds=seconds)
        with contextlib.suppress(ChainError):
            self.shop.orders.draft_permit(id, terms)
            self.made += 1
            self.act(lambda: self.shop.orders.sign(id, self._signature(self.shop.orders.get(id), buyer)))
            self.act(lambda: self.shop.orders.store(id))

    @rule(buyer=buyers, maximum=st.integers(1, FUNDS // 4), part=st.integers(1, 4), death=deaths)
    def permit_in_time(self, buyer: LocalAccount, maximum: int, part: int, death: int | None) -> None:
        """Capture without a crash, the usual case."""
        number = self.made
        self.permit(buyer, maximum, 10**6)
        if self.made > number:
            self.capture_part(number, part, death)
            self.shop.chain.mine()
            self.go_on(None)

    @rule(number=which, part=st.integers(1, 4), death=deaths)
    def capture_part(self, number: int, part: int, death: int | None) -> None:
        id = self.order(number)
        order = self.shop.orders.get(id)
        if order.checkout is not None:
            self.act(lambda: self.shop.captures.capture(id, max(1, order.amount * part // 4)), death)

    @rule(number=which, other=buyers)
    def submit_first(self, number: int, other: LocalAccount) -> None:
        """Submit a permit as a stranger who has seen it."""
        order = self.shop.orders.get(self.order(number))
        if order.checkout is not None and order.signature is not None:
            self.shop.submit_permit(permit(order), order.signature, other)


class LifeWithBatches(Life):
    """Runs whose captures go through the batch capture contract, alone and in groups."""

    batch_capture = BATCH_CAPTURE

    @rule(
        parts=st.lists(st.tuples(buyers, st.integers(1, FUNDS // 8)), min_size=1, max_size=5),
        seconds=st.sampled_from([150, 600, 10**6]),
        death=deaths,
    )
    def pay_group(self, parts: list[tuple[LocalAccount, int]], seconds: int, death: int | None) -> None:
        """Send a group of signed payments. Store those that failed the checks as orders, so that every id exists."""
        shop, ids = self.shop, [f"o{self.made + position}" for position in range(len(parts))]
        payments = [shop.payment(id, amount, buyer, seconds) for id, (buyer, amount) in zip(ids, parts, strict=True)]
        self.act(lambda: shop.store_group(payments), death)
        self.counted["payments in groups"] += len(set(ids) & set(shop.in_state(OrderState.STORED)))
        lost, self.shop.node.losses = self.shop.node.losses, []
        for id, (buyer, amount) in zip(ids, parts, strict=True):
            if id not in self.shop.in_state(*OrderState):
                self.shop.stored(id, amount, buyer=buyer, seconds=10**6)
        self.shop.node.losses = lost
        self.made += len(parts)

    @rule(buyer=buyers, amount=st.integers(1, 1000), swept=st.booleans())
    def pay_the_contract(self, buyer: LocalAccount, amount: int, *, swept: bool) -> None:
        """Send tokens to the contract without an authorization, which the merchant may sweep."""
        data = call_data("transfer(address,uint256)", BATCH_CAPTURE, amount)
        self.shop.chain.inject(buyer.address.lower(), TOKEN, data)
        if swept:
            self.shop.chain.mine()
            self.shop.chain.inject(SHOP.address.lower(), BATCH, selector("sweep()"))

    def compare(self) -> None:
        super().compare()
        with self.shop.database.reading() as tx:
            query = select(OrderRecord.last_error, func.count()).where(OrderRecord.capture_batch.is_not(None))
            for reason, count in tx.execute(query.group_by(OrderRecord.last_error)):
                self.counted["in a batch" if reason is None else "failed in a batch"] += count
        assert self.shop.progress.batches.waiting() == []


@pytest.mark.timeout(300 + 10 * RUNS)
def test_batches_lose_and_double_no_payment_in_random_runs(
    new_url: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    counted = play(LifeWithBatches, new_url, make_fake_chain, RUNS, capsys)
    assert counted["failed in a batch"]
    assert counted["payments in groups"]


@pytest.mark.timeout(300 + 10 * RUNS)
def test_batches_on_real_contracts_lose_and_double_no_payment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    urls = (f"sqlite:///{tmp_path}/{number}.db" for number in itertools.count())
    play(LifeWithBatches, lambda: next(urls), make_node_chain, max(12, RUNS // 10), capsys)


@pytest.mark.timeout(300 + 10 * RUNS)
def test_no_payment_is_lost_or_doubled_in_random_runs(
    new_url: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    play(Life, new_url, make_fake_chain, RUNS, capsys)


@pytest.mark.timeout(300 + 10 * RUNS)
def test_random_runs_with_real_contracts_lose_and_double_no_payment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shorter form: the same runs on a real node."""
    urls = (f"sqlite:///{tmp_path}/{number}.db" for number in itertools.count())
    play(LifeWithPermits, lambda: next(urls), make_node_chain, max(12, RUNS // 10), capsys)


def play(
    lives: type[Life], new_url: Callable[[], str], chains: Chains, runs: int, capsys: pytest.CaptureFixture[str]
) -> Counter[str]:
    """Run this many lives, print the reached states, and return their counts."""
    counted: Counter[str] = Counter()
    attributes = {"new_url": staticmethod(new_url), "chains": staticmethod(chains), "counted": counted}
    life = type("Life", (lives,), attributes)
    profile = settings(
        max_examples=runs,
        stateful_step_count=STEPS,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        phases=PHASES,
        # The default runs are deterministic, those of the long form random.
        derandomize="FORESEAL_PAYMENT_RUNS" not in os.environ,
    )
    run_state_machine_as_test(life, settings=profile)
    with capsys.disabled():
        print(f"\n{runs} runs: " + ", ".join(f"{name} {count}" for name, count in sorted(counted.items())))
    for reached in (OrderState.CAPTURED, OrderState.CANCELED, OrderState.EXPIRED, DisbursementState.COMPLETE):
        assert counted[reached]
    assert counted["payer assigned"]
    assert any(name.startswith("killed") for name in counted)
    return counted
