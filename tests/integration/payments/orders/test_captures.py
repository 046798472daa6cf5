"""Capture, void, cancel and expiry on a chain with the token's rules: every state is reached and asserted."""

import pytest

from foreseal.payments.chain import ConfirmationPolicy, ConfirmationTier, NoResponse, Reverted
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import Ledger, TransitionNotAllowed, TxStatus
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.cancellations import NotCancelable
from foreseal.payments.orders.capture_checks import CaptureObstacle, NotCapturable
from foreseal.payments.orders.captures import Captures
from foreseal.payments.orders.reconciler import NotExpired, OrderReconciler
from foreseal.payments.signatures import InvalidSignature
from foreseal.payments.transactions import WrongChain
from foreseal.payments.typed_data import Domain
from payments.fake.contracts import NAME, VERSION
from payments.shop import ADDRESS, BUYER, BUYERS, FUNDS, SHOP, Make, Shop

LOW = BUYER.address.lower()


def held(shop: Shop, address: str = SHOP.address) -> int:
    return shop.chain.pending.state.balances.get(address.lower(), 0)


def test_an_order_goes_from_its_terms_to_a_final_capture(shop: Shop) -> None:
    message = shop.draft("a", 500)
    assert shop.status("a") == "Drafted / idle"
    shop.orders.sign("a", shop.signed(message))
    assert shop.status("a") == "Signed, unused / idle"
    shop.orders.store("a")
    assert shop.status("a") == "Stored, unused / idle"
    assert shop.captures.capture("a").step is TxStatus.BROADCAST
    assert shop.progress.advance("a").step is TxStatus.BROADCAST
    assert held(shop) == 0
    shop.chain.step()
    shop.progress.advance("a")
    assert shop.status("a") == "Used, captured / provisional"
    assert held(shop) == 500
    shop.chain.mine(11)
    shop.progress.advance("a")
    assert shop.status("a") == "Used, captured / provisional"
    shop.chain.mine()
    shop.progress.advance("a")
    assert shop.status("a") == "Used, captured / confirmed"
    shop.chain.mine(shop.chain.finality)
    shop.progress.advance("a")
    assert shop.status("a") == "Used, captured / final"
    assert shop.progress.resume() == {}
    assert shop.balance().captured == 500
    assert shop.balance().faults == ()


def test_payment_below_the_smallest_recorded_transfer_is_rejected(shop: Shop) -> None:
    object.__setattr__(shop.merchant, "min_transfer", 100)
    message = "amount: must be at least 100, the smallest transfer that is recorded"
    with pytest.raises(ValueError, match=message):
        shop.draft("a", 99)
    shop.captures.capture(shop.stored("b", 100))


def test_invalid_terms_are_rejected(shop: Shop) -> None:
    with pytest.raises(ValueError, match="amount: must not be 0"):
        shop.draft("a", 0)
    with pytest.raises(ValueError, match="valid_before"):
        shop.draft("a", 1, seconds=-(2**40))
    with pytest.raises(ValueError, match="id"):
        shop.draft("", 1)
    with pytest.raises(ValueError, match="margin"):
        Merchant(Domain(NAME, VERSION, 1, ADDRESS), SHOP.address, margin=0)
    with pytest.raises(ValueError, match="refundable"):
        Merchant(Domain(NAME, VERSION, 1, ADDRESS), SHOP.address, refundable=TxStatus.IDLE)
    with pytest.raises(ValueError, match="payee"):
        Captures(shop.ledger, shop.sender, Merchant(Domain(NAME, VERSION, 1, ADDRESS), BUYER.address))


def test_a_signature_of_another_account_is_rejected(shop: Shop) -> None:
    message = shop.draft("a")
    for wrong in (shop.signed(message, BUYERS[1]), b"\1" * 65, b""):
        with pytest.raises(InvalidSignature, match=r"^signature: "):
            shop.orders.sign("a", wrong)
    assert shop.status("a") == "Drafted / idle"


def test_contract_wallet_is_verified_and_pays(shop: Shop) -> None:
    message = shop.draft("a")
    shop.chain.wallets[LOW] = BUYERS[1].address.lower()
    with pytest.raises(InvalidSignature, match=r"wallet .* does not accept"):
        shop.orders.sign("a", shop.signed(message))
    shop.orders.sign("a", shop.signed(message, BUYERS[1]))
    shop.orders.store("a")
    shop.captures.capture("a")
    shop.settle()
    assert shop.status("a") == "Used, captured / final"


def pause_meanwhile(shop: Shop) -> None:
    """Pause the token after all checks and before the capture's gas estimate."""

    def pause(method: str) -> None:
        if method == "eth_estimateGas":
            shop.chain.change(lambda state: setattr(state, "paused", True))

    shop.node.hook = pause


OBSTACLES = {
    CaptureObstacle.USED: lambda shop: shop.chain.change(lambda state: state.used.add((LOW, (1).to_bytes(32, "big")))),
    CaptureObstacle.BALANCE: lambda shop: shop.chain.change(lambda state: state.balances.update({LOW: 499})),
    CaptureObstacle.PAUSED: lambda shop: shop.chain.change(lambda state: setattr(state, "paused", True)),
    CaptureObstacle.FORBIDDEN: lambda shop: shop.chain.change(lambda state: state.blacklisted.add(LOW)),
    CaptureObstacle.REVERTS: pause_meanwhile,
    CaptureObstacle.LATE: lambda shop: shop.chain.advance(3600 - 61),
}


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: obstacle.name)
def test_obstacles_to_a_capture_are_found_before_signing(shop: Shop, obstacle: CaptureObstacle) -> None:
    shop.stored("a", 500)
    OBSTACLES[obstacle](shop)
    with pytest.raises(NotCapturable) as error:
        shop.captures.capture("a")
    assert error.value.obstacle is obstacle
    assert str(error.value).startswith("orders: a cannot be captured: ")
    assert shop.status("a") == "Stored, unused / idle"
    assert "eth_sendRawTransaction" not in shop.node.calls


def test_holder_policy_against_the_payer_blocks_the_capture(shop: Shop) -> None:
    shop.stored("a", 500)
    shop.chain.change(lambda state: state.policy_forbids.add(LOW))
    with pytest.raises(NotCapturable, match=f"forbidden: {BUYER.address}") as error:
        shop.captures.capture("a")
    assert error.value.obstacle is CaptureObstacle.FORBIDDEN
    assert shop.status("a") == "Stored, unused / idle"


@pytest.mark.fake_chain
def test_the_configuration_is_pinned(shop: Shop) -> None:
    shop.stored("a")
    other = Merchant(Domain("Other", VERSION, shop.chain.chain_id, ADDRESS), SHOP.address)
    with pytest.raises(NotCapturable) as error:
        Captures(shop.ledger, shop.sender, other).capture("a")
    assert error.value.obstacle is CaptureObstacle.DOMAIN
    moved = Merchant(Domain(NAME, VERSION, shop.chain.chain_id, SHOP.address), SHOP.address)
    with pytest.raises(NotCapturable) as error:
        Captures(shop.ledger, shop.sender, moved).capture("a")
    assert error.value.obstacle is CaptureObstacle.DOMAIN
    shop.chain.chain_id = 5
    with pytest.raises(WrongChain, match="chain id 5, configured is 31337"):
        shop.captures.capture("a")
    assert shop.status("a") == "Stored, unused / idle"


@pytest.mark.fake_chain
def test_validity_bounds_are_compared_with_the_pending_block(make: Make) -> None:
    shop = make(margin=10)
    until = shop.chain.time + 3600
    shop.stored("late", seconds=3600)
    shop.chain.advance(until - 11 - shop.chain.pending.time)
    assert shop.chain.pending.time == until - 11
    shop.stored("later", seconds=until - shop.chain.time)
    shop.captures.capture("late")
    shop.chain.advance(1)
    with pytest.raises(NotCapturable) as error:
        shop.captures.capture("later")
    assert error.value.obstacle is CaptureObstacle.LATE
    terms = shop.terms()
    early = type(terms)(terms.payer, 5, shop.chain.pending.time, terms.valid_before, terms.nonce)
    shop.orders.sign("early", shop.signed(shop.orders.draft("early", early)))
    shop.orders.store("early")
    with pytest.raises(NotCapturable) as error:
        shop.captures.capture("early")
    assert error.value.obstacle is CaptureObstacle.EARLY


def test_a_decided_capture_excludes_a_void_and_a_second_one(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a"))
    with pytest.raises(TransitionNotAllowed, match=r"Stored, unused \(broadcast\): merchant marks the order void"):
        shop.orders.void("a")
    with pytest.raises(TransitionNotAllowed, match=r"Stored, unused \(broadcast\): merchant submits"):
        shop.captures.capture("a")
    shop.orders.void(shop.stored("b"), "out of stock")
    with pytest.raises(TransitionNotAllowed, match="Voided offchain: merchant submits"):
        shop.captures.capture("b")
    assert shop.orders.timeline("b")[-1].details == {"reason": "merchant_voided", "message": "out of stock"}
    shop.settle()
    assert held(shop) == 500


def test_a_void_between_check_and_decision_wins(shop: Shop) -> None:
    shop.stored("a")

    def void_meanwhile(method: str) -> None:
        if method == "eth_estimateGas":
            shop.node.hook = None
            shop.orders.void("a")

    shop.node.hook = void_meanwhile
    with pytest.raises(TransitionNotAllowed, match="Voided offchain"):
        shop.captures.capture("a")
    assert not shop.chain.pool


def test_a_voided_order_is_canceled_on_the_chain(shop: Shop) -> None:
    shop.stored("a")
    with pytest.raises(TransitionNotAllowed, match="Stored, unused: payer-signed cancelAuthorization"):
        shop.cancel("a")
    shop.orders.void("a")
    with pytest.raises(InvalidSignature):
        shop.cancel("a", BUYERS[1])
    shop.cancel("a")
    assert shop.status("a") == "Voided offchain / broadcast"
    shop.chain.mine()
    shop.go_on()
    assert shop.status("a") == "Canceled / provisional"
    shop.settle()
    assert shop.status("a") == "Canceled / final"
    with pytest.raises(TransitionNotAllowed, match="Canceled"):
        shop.captures.capture("a")
    assert (LOW, shop.orders.get("a").nonce) in shop.chain.latest.state.used
    assert held(shop) == 0


def test_late_or_paused_cancellation_is_rejected(shop: Shop) -> None:
    shop.orders.void(shop.stored("a"))
    shop.chain.change(lambda state: setattr(state, "paused", True))
    with pytest.raises(Reverted, match="Pausable: paused"):
        shop.cancel("a")
    shop.chain.advance(4000)
    with pytest.raises(NotCancelable, match="was valid until"):
        shop.cancel("a")
    assert shop.status("a") == "Voided offchain / idle"


def test_logs_distinguish_a_cancellation_from_a_capture(shop: Shop) -> None:
    for id in ("stored", "voided"):
        shop.stored(id)
    shop.orders.void("voided")
    shop.payer_cancels("stored")
    shop.payer_cancels("voided")
    shop.chain.mine()
    with pytest.raises(NotCapturable) as error:
        shop.captures.capture("stored")
    assert error.value.obstacle is CaptureObstacle.USED
    assert shop.status("stored") == "Stored, unused / idle"
    with pytest.raises(NotCancelable, match="used or canceled"):
        shop.cancel("voided")
    assert shop.status("voided") == "Canceled / provisional"
    shop.chain.mine(shop.chain.finality)
    with pytest.raises(NotCapturable):
        shop.captures.capture("stored")
    assert shop.status("stored") == "Canceled / final"
    states = [entry.after for entry in shop.orders.timeline("stored")]
    assert states[-3:] == ["Voided offchain", "Canceled (provisional)", "Canceled (final)"]
    shop.go_on()
    assert shop.status("voided") == "Canceled / final"


@pytest.mark.fake_chain
def test_payer_cancellation_before_a_capture_wins(shop: Shop) -> None:
    shop.stored("a")
    shop.payer_cancels("a")
    shop.captures.capture("a")
    # Order by senders' addresses; the payer's transaction comes first in its block.
    shop.chain.pool = dict(sorted(shop.chain.pool.items(), key=lambda each: each[0][0] != LOW))
    capture = shop.chain.pool.pop((SHOP.address.lower(), 0))
    shop.chain.step()
    shop.chain.pool[capture.sender, 0] = capture
    shop.chain.mine()
    shop.go_on()
    assert shop.status("a") == "Stored, unused / broadcast"
    shop.settle()
    assert shop.status("a") == "Canceled / final"
    assert held(shop) == 0


def test_order_expires_once_a_final_block_passes_its_deadline(shop: Shop) -> None:
    shop.draft("drafted")
    shop.stored("stored")
    shop.orders.void(shop.stored("voided"))
    shop.captures.capture(shop.stored("captured"))
    shop.chain.mine()
    shop.go_on()
    shop.chain.advance(3600)
    shop.chain.mine(shop.chain.finality - 1)
    with pytest.raises(NotExpired, match="no final block has reached"):
        shop.progress.expire("stored")
    shop.chain.mine(2)
    for id in ("drafted", "stored", "voided"):
        shop.progress.expire(id)
        assert shop.status(id) == "Expired / idle"
        with pytest.raises(TransitionNotAllowed, match="Expired"):
            shop.progress.expire(id)
    with pytest.raises(NotExpired, match="used or canceled"):
        shop.progress.expire("captured")
    assert shop.status("captured") == "Used, captured / final"


def test_late_capture_reverts_and_expires(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a", seconds=100))
    shop.chain.advance(200)
    shop.chain.mine()
    shop.go_on()
    assert shop.status("a") == "Stored, unused / broadcast"
    shop.chain.mine(shop.chain.finality)
    shop.go_on()
    assert shop.status("a") == "Stored, unused / failed"
    assert shop.orders.timeline("a")[-1].details["reason"] == "reverted"
    shop.progress.expire("a")
    assert shop.status("a") == "Expired / idle"
    assert held(shop) == 0


def test_order_can_expire_during_its_capture(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a", seconds=100))
    shop.chain.drop()
    shop.chain.advance(200)
    shop.chain.mine(shop.chain.finality + 1)
    shop.progress.expire("a")
    # Its bytes must still be sent to use the account nonce.
    shop.captures.capture(shop.stored("b"))
    shop.settle()
    assert shop.status("a") == "Expired / idle"
    assert shop.status("b") == "Used, captured / final"
    assert held(shop) == 500


def test_finally_failed_capture_can_be_retried(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a", 500))
    shop.chain.change(lambda state: state.balances.update({LOW: 0}))
    shop.chain.mine()
    shop.go_on()
    assert shop.status("a") == "Stored, unused / broadcast"
    shop.settle()
    assert shop.status("a") == "Stored, unused / failed"
    shop.chain.change(lambda state: state.balances.update({LOW: FUNDS}))
    shop.captures.capture("a")
    shop.settle()
    assert shop.status("a") == "Used, captured / final"
    assert held(shop) == 500


@pytest.mark.fake_chain
def test_status_1_without_logs_is_not_a_payment(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a"))
    shop.chain.step()
    landed = shop.chain.pending.landed[0]
    assert landed.succeeded
    used, transfer = landed.events
    for events in ([], [used], [transfer], [(LOW, *used[1:]), transfer], [used, (LOW, *transfer[1:])]):
        landed.events = events
        shop.progress.advance("a")
        assert shop.status("a") == "Stored, unused / broadcast"
    other = (used[0], (*used[1][:2], bytes(32)), b"")
    landed.events = [other, transfer]
    shop.progress.advance("a")
    assert shop.status("a") == "Stored, unused / broadcast"
    landed.events = [used, transfer]
    shop.progress.advance("a")
    assert shop.status("a") == "Used, captured / provisional"


@pytest.mark.parametrize("executed", [False, True])
def test_capture_with_a_lost_response_is_unknown_until_on_chain(shop: Shop, *, executed: bool) -> None:
    shop.node.losses.append(("eth_sendRawTransaction", executed))
    assert shop.captures.capture(shop.stored("a")).step is TxStatus.UNKNOWN
    with pytest.raises(TransitionNotAllowed, match="unknown"):
        shop.orders.void("a")
    shop.restart()
    shop.go_on()
    assert shop.status("a") == "Stored, unused / broadcast"
    assert len(shop.chain.pool) == 1
    shop.settle()
    assert held(shop) == 500


def test_capture_removed_by_a_reorganization_is_open_until_included_again(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a"))
    shop.chain.mine(13)
    shop.go_on()
    assert shop.status("a") == "Used, captured / confirmed"
    shop.chain.reorganize(13, late=14)
    shop.chain.drop()
    shop.progress.advance("a")
    assert shop.status("a") == "Stored, unused / broadcast"
    assert shop.balance().received == 0
    assert len(shop.chain.pool) == 1
    shop.chain.mine()
    shop.progress.advance("a")
    assert shop.status("a") == "Used, captured / provisional"
    triggers = [entry.trigger for entry in shop.orders.timeline("a")]
    assert triggers.count("reorganization took the effect back") == 1
    shop.settle()
    assert held(shop) == 500


def test_cancellation_removed_by_a_reorganization_is_sent_again(shop: Shop) -> None:
    shop.orders.void(shop.stored("a"))
    shop.cancel("a")
    shop.chain.mine(3)
    shop.go_on()
    assert shop.status("a") == "Canceled / provisional"
    shop.chain.reorganize(3, dropped=True)
    shop.go_on()
    assert shop.status("a") == "Voided offchain / broadcast"
    shop.settle()
    assert shop.status("a") == "Canceled / final"


def test_payer_cancellation_removed_by_a_reorganization_reopens_the_order(shop: Shop) -> None:
    shop.orders.void(shop.stored("a"))
    shop.payer_cancels("a")
    shop.chain.mine(3)
    shop.progress.reconcile("a")
    assert shop.status("a") == "Canceled / provisional"
    shop.chain.reorganize(3, dropped=True)
    for _ in range(2):
        shop.go_on()
    assert shop.status("a") == "Voided offchain / failed"
    shop.cancel("a")
    shop.settle()
    assert shop.status("a") == "Canceled / final"


@pytest.mark.parametrize(
    ("policy", "blocks"),
    [
        (ConfirmationPolicy(ConfirmationTier.PRECONFIRMED), 0),
        (ConfirmationPolicy(ConfirmationTier.SEALED), 1),
        (ConfirmationPolicy(ConfirmationTier.BLOCKS, 3), 3),
        (ConfirmationPolicy(ConfirmationTier.SAFE), 21),
        (ConfirmationPolicy(ConfirmationTier.FINALIZED), 41),
    ],
    ids=lambda value: getattr(value, "tier", value),
)
def test_the_policy_decides_when_a_capture_is_confirmed(make: Make, policy: ConfirmationPolicy, blocks: int) -> None:
    shop = make(policy)
    shop.captures.capture(shop.stored("a"))
    shop.chain.step()
    counted = 0
    while not shop.status("a").endswith(("confirmed", "final")):
        shop.progress.advance("a")
        if not shop.status("a").endswith(("confirmed", "final")):
            shop.chain.mine()
            counted += 1
    assert counted == blocks
    assert shop.status("a").endswith("final" if policy.tier is ConfirmationTier.FINALIZED else "confirmed")


def test_blocked_order_does_not_delay_others(shop: Shop) -> None:
    for id in ("a", "b"):
        shop.captures.capture(shop.stored(id))
    shop.chain.mine()
    shop.node.losses.append(("eth_getTransactionReceipt", False))
    errors = shop.progress.resume()
    assert list(errors) == ["a"]
    assert isinstance(errors["a"], NoResponse)
    assert shop.status("a") == "Stored, unused / broadcast"
    assert shop.status("b") == "Used, captured / provisional"


def test_slower_process_does_not_undo_a_started_capture(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a", 500))
    shop.chain.change(lambda state: state.balances.update({LOW: 0}))
    shop.chain.mine(shop.chain.finality + 2)
    slower = OrderReconciler(Ledger(shop.database, lambda: 0, lambda point: again(point)), shop.sender, shop.merchant)

    def again(point: CrashPoint) -> None:
        """Between the slower process's read and its transaction the faster one fails the capture and starts another."""
        if point is CrashPoint.RECEIPT_READ and shop.orders.get("a").step is TxStatus.BROADCAST:
            shop.progress.advance("a")
            shop.chain.change(lambda state: state.balances.update({LOW: FUNDS}))
            shop.captures.capture("a")

    slower.advance("a")
    assert shop.status("a") == "Stored, unused / broadcast"
    with pytest.raises(TransitionNotAllowed):
        shop.orders.void("a")
    shop.settle()
    assert shop.status("a") == "Used, captured / final"
