"""Transfers, allowances and memos, and the order of a transfer's checks."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from payments.contracts.onchain import Log, OnChain, refused
from payments.contracts.people import DOLLAR, People

ZERO = "0x" + "00" * 20
MEMO = b"order 7".ljust(32, b"\0")


def names(logs: list[Log]) -> list[str]:
    """Return the event names of logs, in order."""
    return [log.event for log in logs]


def test_token_has_its_configured_metadata(token: OnChain, people: People) -> None:
    told = {name: token.call(name) for name in ("name", "symbol", "currency", "decimals", "version", "paused")}
    assert told == {"name": "USDC", "symbol": "USDC", "currency": "USD", "decimals": 6, "version": "2", "paused": False}
    assert token.call("totalSupply") == 2000 * DOLLAR
    assert token.call("owner") == people.owner.address


def test_a_transfer_moves_tokens_and_logs_it(token: OnChain, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    sent = token.send(buyer, "transfer", shop, 7)
    assert [(log.event, log.values) for log in sent.logs] == [("Transfer", (buyer, shop, 7))]
    assert (token.call("balanceOf", buyer), token.call("balanceOf", shop)) == (1000 * DOLLAR - 7, 7)


def test_a_transfer_to_oneself_changes_nothing(token: OnChain, people: People) -> None:
    buyer = people.buyer.address
    sent = token.send(buyer, "transfer", buyer, 1000 * DOLLAR)
    assert [(log.event, log.values) for log in sent.logs] == [("Transfer", (buyer, buyer, 1000 * DOLLAR))]
    assert token.call("balanceOf", buyer) == 1000 * DOLLAR


def test_infinite_allowance_decreases(token: OnChain, people: People) -> None:
    buyer, shop, other = people.buyer.address, people.merchant.address, people.other.address
    approved = token.send(buyer, "approve", shop, 2**256 - 1)
    assert [(log.event, log.values) for log in approved.logs] == [("Approval", (buyer, shop, 2**256 - 1))]
    moved = token.send(shop, "transferFrom", buyer, other, 5)
    assert names(moved.logs) == ["Transfer"]
    assert token.call("allowance", buyer, shop) == 2**256 - 6


def test_allowances_are_raised_and_lowered(token: OnChain, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    token.send(buyer, "increaseAllowance", shop, 5)
    assert token.send(buyer, "increaseAllowance", shop, 4).logs[0].values == (buyer, shop, 9)
    assert token.send(buyer, "decreaseAllowance", shop, 3).logs[0].values == (buyer, shop, 6)
    with refused("ERC20: decreased allowance below zero"):
        token.send(buyer, "decreaseAllowance", shop, 7)
    with refused("SafeMath: addition overflow"):
        token.send(buyer, "increaseAllowance", shop, 2**256 - 6)
    for name in ("approve", "increaseAllowance", "decreaseAllowance"):
        with refused("ERC20: approve to the zero address"):
            token.send(buyer, name, ZERO, 0)


def test_a_memo_is_the_log_after_its_transfer(token: OnChain, people: People) -> None:
    buyer, shop, other = people.buyer.address, people.merchant.address, people.other.address
    sent = token.send(buyer, "transferWithMemo", shop, 5, MEMO)
    transfer, memo = sent.logs
    assert (transfer.event, transfer.values) == ("Transfer", (buyer, shop, 5))
    assert (memo.event, memo.values) == ("Memo", (buyer, "0x" + MEMO.hex()))
    assert memo.index == transfer.index + 1
    token.send(buyer, "approve", shop, 5)
    sent = token.send(shop, "transferFromWithMemo", buyer, other, 5, MEMO)
    assert [(log.event, log.values) for log in sent.logs] == [
        ("Transfer", (buyer, other, 5)),
        ("Memo", (shop, "0x" + MEMO.hex())),
    ]
    assert token.call("allowance", buyer, shop) == 0


def test_zero_memo_is_logged(token: OnChain, people: People) -> None:
    buyer, shop, nothing = people.buyer.address, people.merchant.address, b"\0" * 32
    token.send(buyer, "approve", shop, 5)
    for sender, call in (
        (buyer, ("transferWithMemo", shop, 5, nothing)),
        (shop, ("transferFromWithMemo", buyer, shop, 5, nothing)),
    ):
        assert [(log.event, log.values) for log in token.send(sender, *call).logs] == [
            ("Transfer", (buyer, shop, 5)),
            ("Memo", (sender, "0x" + nothing.hex())),
        ]


def test_every_transfer_function_returns_true(token: OnChain, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    token.send(buyer, "approve", shop, 5)
    for sender, call in (
        (buyer, ("transfer", shop, 5)),
        (buyer, ("transferWithMemo", shop, 5, MEMO)),
        (buyer, ("approve", shop, 5)),
        (buyer, ("increaseAllowance", shop, 5)),
        (buyer, ("decreaseAllowance", shop, 5)),
        (shop, ("transferFrom", buyer, shop, 5)),
        (shop, ("transferFromWithMemo", buyer, shop, 5, MEMO)),
    ):
        assert token.call(*call, sender=sender) is True


def test_transfer_checks_pause_blacklist_allowance_and_balance_in_order(token: OnChain, people: People) -> None:
    poor, shop, buyer = people.stranger.address, people.merchant.address, people.buyer.address
    attempts = [
        (poor, ("transfer", shop, 1)),
        (poor, ("transferWithMemo", shop, 1, MEMO)),
        (shop, ("transferFrom", poor, buyer, 1)),
        (shop, ("transferFromWithMemo", poor, buyer, 1, MEMO)),
    ]
    token.send(people.pauser.address, "pause")
    for account in (poor, shop, buyer):
        token.send(people.blacklister.address, "blacklist", account)
    for sender, call in attempts:
        with refused("Pausable: paused"):
            token.send(sender, *call)
    token.send(people.pauser.address, "unpause")
    # The sender comes last, so that each of the others is the only cause found.
    for account in (poor, shop, buyer):
        for sender, call in attempts:
            if account in (sender, *call):
                with refused("Blacklistable: account is blacklisted"):
                    token.send(sender, *call)
        token.send(people.blacklister.address, "unBlacklist", account)
    for sender, call in attempts[2:]:
        with refused("ERC20: transfer amount exceeds allowance"):
            token.send(sender, *call)
    token.send(poor, "approve", shop, 1)
    for sender, call in attempts:
        with refused("ERC20: transfer amount exceeds balance"):
            token.send(sender, *call)


def test_one_blacklisted_party_blocks_a_transfer(token: OnChain, people: People) -> None:
    buyer, shop, other = people.buyer.address, people.merchant.address, people.other.address
    token.send(buyer, "approve", shop, 5)
    for sender, call in (
        (buyer, ("transfer", other, 1)),
        (buyer, ("transferWithMemo", other, 1, MEMO)),
        (shop, ("transferFrom", buyer, other, 1)),
        (shop, ("transferFromWithMemo", buyer, other, 1, MEMO)),
    ):
        for account in {sender, buyer, other}:
            with token.chain.rollback():
                token.send(people.blacklister.address, "blacklist", account)
                with refused("Blacklistable: account is blacklisted"):
                    token.send(sender, *call)
    # Approvals check no blacklist, as in FiatTokenV2_2.
    token.send(people.blacklister.address, "blacklist", buyer)
    token.send(buyer, "approve", shop, 6)
    assert token.call("allowance", buyer, shop) == 6


def test_nothing_goes_to_or_from_the_zero_address(token: OnChain, people: People) -> None:
    with refused("ERC20: transfer to the zero address"):
        token.send(people.buyer.address, "transfer", ZERO, 2000 * DOLLAR)
    with refused("ERC20: transfer from the zero address"):
        token.send(people.buyer.address, "transferFrom", ZERO, ZERO, 0)


def test_the_zero_address_allows_nothing(token: OnChain, people: People) -> None:
    """The zero address cannot sign; a call may still name it as its sender."""
    for name in ("approve", "increaseAllowance", "decreaseAllowance"):
        with refused("ERC20: approve from the zero address"):
            token.call(name, ZERO, 0, sender=ZERO)


PARTIES = st.sampled_from(["buyer", "merchant", "other", "stranger"])
MOVES = st.lists(
    st.tuples(PARTIES, PARTIES, PARTIES, st.integers(0, 1200 * DOLLAR), st.booleans()), min_size=1, max_size=6
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES)
def test_balances_are_conserved(token: OnChain, people: People, moves: list[tuple]) -> None:
    """Compare with a ledger in Python: balances, and allowances between accounts."""
    address = {name: account.address for name, account in vars(people).items()}
    balances = dict.fromkeys(("buyer", "merchant", "other", "stranger"), 0) | {
        "buyer": 1000 * DOLLAR,
        "other": 1000 * DOLLAR,
    }
    allowed: dict[tuple[str, str], int] = {}
    with token.chain.rollback():
        for executor, payer, payee, value, approving in moves:
            if approving:
                token.send(address[payer], "approve", address[executor], value)
                allowed[payer, executor] = value
                continue
            may = allowed.get((payer, executor), 0)
            if value > may or value > balances[payer]:
                reason = "allowance" if value > may else "balance"
                with refused(f"ERC20: transfer amount exceeds {reason}"):
                    token.send(address[executor], "transferFrom", address[payer], address[payee], value)
                continue
            token.send(address[executor], "transferFrom", address[payer], address[payee], value)
            allowed[payer, executor] = may - value
            balances[payer] -= value
            balances[payee] += value
        assert {name: token.call("balanceOf", address[name]) for name in balances} == balances
        for (payer, executor), value in allowed.items():
            assert token.call("allowance", address[payer], address[executor]) == value
        assert token.call("totalSupply") == sum(balances.values())
