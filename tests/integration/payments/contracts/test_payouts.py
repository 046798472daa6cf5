"""Payouts and splits: amounts, shares, references, and tokens that misbehave."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreseal.codec import keccak
from foreseal.payments.contracts import load
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, deploy, refused
from payments.contracts.people import DOLLAR, People

BATCH, OTHER = b"\x01".rjust(32, b"\0"), b"\x02".rjust(32, b"\0")


def many(count: int) -> list[str]:
    """Return addresses without any balance."""
    return [f"0x{0xABCD0000 + index:040x}" for index in range(count)]


@pytest.fixture
def payouts(token: OnChain, people: People) -> OnChain:
    """Return the contract, with the allowance of the buyer, who has a thousand dollars."""
    artifact = load("Payouts")
    placed = deploy(token.chain, people.stranger.address, artifact.creation(token.address), artifact.abi)
    token.send(people.buyer.address, "approve", placed.address, 2**256 - 1)
    # The contract propagates the token's reverts.
    errors = [entry for entry in token.abi if entry["type"] == "error"]
    return OnChain(token.chain, placed.address, [*artifact.abi, *errors])


def test_payouts_interface_is_stable() -> None:
    topic = keccak(b"PayoutSent(bytes32,address,address,uint256)").hex()
    assert topic == "e50d87119ceb02f3aa30a83e96b007c343e37d38e4f720be35f408d0477995fb"
    contract = OnChain(None, "0x", load("Payouts").abi)  # type: ignore[arg-type]
    for signature, selector in {
        "sendPayouts(bytes32,address[],uint256[])": "f318af5f",
        "splitPayment(bytes32,uint256,address[],uint16[],uint256)": "22fe106e",
    }.items():
        assert keccak(signature.encode())[:4].hex() == selector
        assert contract.function(signature, ())["stateMutability"] == "nonpayable"
    (event,) = (entry for entry in contract.abi if entry["type"] == "event")
    assert [(given["name"], given["indexed"]) for given in event["inputs"]] == [
        ("batchReference", True),
        ("sender", True),
        ("recipient", True),
        ("amount", False),
    ]


def test_each_recipient_gets_its_share(token: OnChain, people: People, payouts: OnChain) -> None:
    sender, recipients, amounts = people.buyer.address, many(3), [5, 1, 7]
    receipt = payouts.send(sender, "sendPayouts", BATCH, recipients, amounts)
    assert [token.call("balanceOf", recipient) for recipient in recipients] == amounts
    assert [(log.event, log.values) for log in receipt.logs] == [
        ("PayoutSent", ("0x" + BATCH.hex(), sender, recipient, amount))
        for recipient, amount in zip(recipients, amounts, strict=True)
    ]
    transfers = [log for log in token.explain(receipt.raw_logs) if log.event == "Transfer"]
    assert [log.index + 1 for log in transfers] == [log.index for log in receipt.logs]
    assert token.call("balanceOf", payouts.address) == 0


def test_a_batch_is_paid_once_by_its_sender(token: OnChain, people: People, payouts: OnChain) -> None:
    sender, other, (recipient,) = people.buyer.address, people.other.address, many(1)
    token.send(other, "approve", payouts.address, 100)
    payouts.send(sender, "sendPayouts", BATCH, [recipient], [5])
    with refused("TooManyRecipients()"):
        payouts.send(sender, "sendPayouts", BATCH, many(101), [1] * 101)
    for call in (
        ("sendPayouts", BATCH, [recipient], [5]),
        ("splitPayment", BATCH, 5, [recipient], [10_000], 0),
    ):
        with refused(f"BatchAlreadyProcessed(0x{BATCH.hex()})"):
            payouts.send(sender, *call)
    payouts.send(other, "splitPayment", BATCH, 5, [recipient], [10_000], 0)
    payouts.send(sender, "sendPayouts", OTHER, [recipient], [5])
    assert token.call("balanceOf", recipient) == 15
    assert payouts.call("processed", sender, BATCH) is True
    assert payouts.call("processed", other, OTHER) is False
    inner = keccak(bytes.fromhex(sender[2:]).rjust(32, b"\0") + bytes(32))
    assert payouts.storage(int.from_bytes(keccak(BATCH + inner), "big")) == 1


def test_invalid_batch_is_rejected(people: People, payouts: OnChain) -> None:
    (recipient, second), sender = many(2), people.buyer.address
    for refusal, call in [
        ("InvalidArrayLengths()", ("sendPayouts", BATCH, [], [])),
        ("InvalidArrayLengths()", ("sendPayouts", BATCH, [recipient], [])),
        ("InvalidArrayLengths()", ("sendPayouts", BATCH, [recipient], [1, 2])),
        ("InvalidArrayLengths()", ("splitPayment", BATCH, 5, [], [], 0)),
        ("InvalidArrayLengths()", ("splitPayment", BATCH, 5, [recipient], [5000, 5000], 0)),
        ("InvalidArrayLengths()", ("sendPayouts", BATCH, many(101), [1])),
        ("TooManyRecipients()", ("sendPayouts", BATCH, many(101), [1] * 101)),
        ("TooManyRecipients()", ("splitPayment", BATCH, 5, many(101), [99] * 101, 0)),
        ("ZeroAmount()", ("sendPayouts", BATCH, [recipient, second], [1, 0])),
        ("ZeroAmount()", ("splitPayment", BATCH, 0, [recipient], [10_000], 1)),
        ("InvalidBasisPoints()", ("splitPayment", BATCH, 5, [recipient, second], [5000, 4999], 0)),
        ("InvalidBasisPoints()", ("splitPayment", BATCH, 5, [recipient, second], [5000, 5001], 0)),
        ("InvalidBasisPoints()", ("splitPayment", BATCH, 5, [recipient, second], [65535, 65535], 0)),
        ("InvalidRemainderRecipient(2)", ("splitPayment", BATCH, 5, [recipient, second], [5000, 4999], 2)),
    ]:
        with refused(refusal):
            payouts.send(sender, *call)
    assert payouts.call("processed", sender, BATCH) is False


def test_batch_over_100_recipients_is_rejected(token: OnChain, people: People, payouts: OnChain) -> None:
    recipients = many(100)
    receipt = payouts.send(people.buyer.address, "splitPayment", BATCH, 1000, recipients, [100] * 100, 0)
    assert len(receipt.logs) == 100
    assert {token.call("balanceOf", recipient) for recipient in recipients} == {10}
    payouts.send(people.buyer.address, "sendPayouts", OTHER, recipients, [1] * 100)


def test_forbidden_recipient_fails_the_batch(token: OnChain, people: People, payouts: OnChain) -> None:
    sender, recipients = people.buyer.address, many(3)
    token.send(people.blacklister.address, "blacklist", recipients[2])
    with refused("Blacklistable: account is blacklisted"):
        payouts.send(sender, "sendPayouts", BATCH, recipients, [1, 1, 1])
    token.send(people.blacklister.address, "unBlacklist", recipients[2])
    blocked = token.send(people.owner.address, "createPolicy", 0, [recipients[2]]).logs[0].values[0]
    scope = bytes.fromhex(token.call("TRANSFER_RECEIVER_POLICY")[2:])
    token.send(people.owner.address, "updatePolicy", scope, blocked)
    with refused(f"PolicyForbids(0x{scope.hex()}, {blocked})"):
        payouts.send(sender, "splitPayment", BATCH, 10, recipients, [3000, 3000, 4000], 0)
    with refused("ERC20: transfer amount exceeds balance"):
        payouts.send(sender, "sendPayouts", BATCH, recipients[:2], [600 * DOLLAR, 600 * DOLLAR])
    assert [token.call("balanceOf", recipient) for recipient in recipients] == [0, 0, 0]
    assert payouts.call("processed", sender, BATCH) is False


def test_the_sender_may_be_a_recipient(token: OnChain, people: People, payouts: OnChain) -> None:
    sender, (recipient,) = people.buyer.address, many(1)
    payouts.send(sender, "splitPayment", BATCH, 10, [sender, recipient, sender], [5000, 3000, 2000], 0)
    assert token.call("balanceOf", sender) == 1000 * DOLLAR - 3
    assert token.call("balanceOf", recipient) == 3


SHARES = st.lists(st.integers(0, 10_000), max_size=11).map(
    lambda cuts: [right - left for left, right in zip([0, *sorted(cuts)], [*sorted(cuts), 10_000], strict=True)]
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(total=st.integers(1, 1000 * DOLLAR), shares=SHARES, data=st.data())
def test_shares_add_up_to_the_total(
    token: OnChain, people: People, payouts: OnChain, total: int, shares: list[int], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(shares) - 1))
    expected = [total * share // 10_000 for share in shares]
    remainder = total - sum(expected)
    assert 0 <= remainder < len(shares)
    expected[place] += remainder
    sender, recipients = people.buyer.address, many(len(shares))
    with token.chain.rollback():
        receipt = payouts.send(sender, "splitPayment", BATCH, total, recipients, shares, place)
        assert [token.call("balanceOf", recipient) for recipient in recipients] == expected
        assert [log.values[3] for log in receipt.logs] == expected
        assert token.call("balanceOf", sender) == 1000 * DOLLAR - total


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batches=st.lists(
        st.tuples(
            st.sampled_from(["buyer", "other"]),
            st.integers(0, 2),
            st.lists(st.tuples(st.integers(0, 4), st.integers(0, 400 * DOLLAR)), min_size=1, max_size=5),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_random_batches_of_two_senders_are_paid(
    token: OnChain, people: People, payouts: OnChain, batches: list
) -> None:
    """Compare with a ledger in Python; recipients and references repeat."""
    recipients, done = many(5), set()
    has = dict.fromkeys(("buyer", "other"), 1000 * DOLLAR)
    gets = [0] * 5
    with token.chain.rollback():
        token.send(people.other.address, "approve", payouts.address, 2**256 - 1)
        for sender, reference, legs in batches:
            batch, total = reference.to_bytes(32, "big"), sum(amount for _, amount in legs)
            call = ("sendPayouts", batch, [recipients[place] for place, _ in legs], [amount for _, amount in legs])
            address = getattr(people, sender).address
            spent = 0
            refusal = None if (sender, reference) not in done else f"BatchAlreadyProcessed(0x{batch.hex()})"
            for _, amount in legs:
                if refusal is None and (amount == 0 or spent + amount > has[sender]):
                    refusal = "ZeroAmount()" if amount == 0 else "ERC20: transfer amount exceeds balance"
                spent += amount
            if refusal is not None:
                with refused(refusal):
                    payouts.send(address, *call)
                continue
            payouts.send(address, *call)
            done.add((sender, reference))
            has[sender] -= total
            for place, amount in legs:
                gets[place] += amount
        assert [token.call("balanceOf", recipient) for recipient in recipients] == gets
        assert {name: token.call("balanceOf", getattr(people, name).address) for name in has} == has


def test_a_misbehaving_token_pays_no_recipient(tricked: OnChain, people: People) -> None:
    token, artifact, sender = tricked, load("Payouts"), people.buyer.address
    placed = deploy(token.chain, people.stranger.address, artifact.creation(token.address), artifact.abi)
    token.send(sender, "approve", placed.address, 100)
    (recipient,) = many(1)
    call = ("sendPayouts", BATCH, [recipient], [5])
    for trick, refusal in {
        1: f"SafeERC20FailedOperation({token.address})",
        3: f"AmountNotReceived({recipient}, 5)",
        4: f"AmountNotReceived({recipient}, 5)",
    }.items():
        token.send(sender, "play", trick, recipient, b"")
        with refused(refusal):
            placed.send(sender, *call)
    calls = (call, ("splitPayment", BATCH, 5, [recipient], [10_000], 0))
    for first, second in itertools.product(calls, repeat=2):
        for batch in (BATCH, OTHER):
            again = placed.data(second[0], batch, *second[2:])
            token.send(sender, "play", 5, placed.address, again)
            with refused("ReentrancyGuardReentrantCall()"):
                placed.send(sender, *first)
    token.send(sender, "play", 2, recipient, b"")
    placed.send(sender, *call)
    assert token.call("balanceOf", recipient) == 5


@pytest.fixture
def tricked(token: OnChain, people: People) -> OnChain:
    """Return a token that misbehaves on command; the buyer has a hundred of it."""
    artifact = double("TrickToken")
    trick = deploy(token.chain, people.stranger.address, artifact.creation(), artifact.abi)
    trick.send(people.stranger.address, "mint", people.buyer.address, 100)
    return trick
