"""Kinds of wallets: their code at the check, what changes before the settlement, and what must come of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT, PERMIT2
from payments.fake.contracts import TOKEN, selector
from payments.people import CHECKOUT
from wallets import bytecode as code
from wallets.people import GAS_PAYERS

DEAR = 2_000_000
"""Gas above every maximum."""
WITHIN = 300_000
"""Gas within the maximum of every operation."""
NEARLY = 480_000
"""Gas with which the limit of a transaction is the maximum, or nearly so."""
_TOKEN_CALLERS = (TOKEN, PERMIT2, BATCH_SETTLEMENT)


class Form(StrEnum):
    """Account that a wallet is."""

    KEY = "key"
    """An account with a key and no code."""
    CONTRACT = "contract"
    DELEGATED = "7702"
    """An account with a key that delegates to a contract (EIP-7702)."""


@dataclass(frozen=True, slots=True)
class PendingHead:
    """The chain at the time of the check."""

    block: int
    """Number of the pending block."""
    time: int
    """Time of the pending block in seconds since 1970."""


Code = Callable[[str, PendingHead], bytes]
"""Returns the code of a wallet by its owner's address."""


@dataclass(frozen=True, slots=True)
class WalletKind:
    """A kind of wallet."""

    form: Form
    code: Code
    switched: Code | None = None
    """Code that replaces it before the first transaction is sent after the check."""
    honest: bool = False
    """True if every operation must succeed."""
    returns: bool = False
    """True if the wallet has its first code again at every check, and the other one at every transaction."""
    spends: bool = False
    """True if it spends its tokens before the first transaction is sent after the check."""
    waits: bool = False
    """True if a block is sealed between the check and the first transaction."""

    @property
    def changes(self) -> bool:
        """True if something happens between the check and the transaction."""
        return self.switched is not None or self.spends or self.waits


def _constant(runtime: bytes) -> Code:
    return lambda _owner, _pending_head: runtime


def _contract(runtime: bytes) -> WalletKind:
    return WalletKind(Form.CONTRACT, _constant(runtime))


def _owned_contract(owner: str, _: PendingHead) -> bytes:
    return code.owned(owner)


def _owned_account(_owner: str, _pending_head: PendingHead) -> bytes:
    return code.owned()


def _no_code(_owner: str, _pending_head: PendingHead) -> bytes:
    return b""


def _switching(
    runtime: bytes, *, form: Form = Form.CONTRACT, first: bytes = code.ACCEPTING, returns: bool = False
) -> WalletKind:
    """Return a wallet that accepts with its first code at the check, and has other code at the settlement."""
    return WalletKind(form, _constant(first), _constant(runtime), returns=returns)


_TRANSFER = code.transfer_data("0x" + "99" * 20, 1)
_CAPTURE = selector("capture(bytes32,address,uint256,uint256,uint256,uint8,bytes32,bytes32)") + bytes(256)
_RECEIVE = selector("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)") + bytes(224)

KINDS: Mapping[str, WalletKind] = {
    "key": WalletKind(Form.KEY, _no_code, honest=True),
    "honest_contract": WalletKind(Form.CONTRACT, _owned_contract, honest=True),
    "honest_7702": WalletKind(Form.DELEGATED, _owned_account, honest=True),
    "spends_within_maximum": WalletKind(Form.CONTRACT, _constant(code.spending(WITHIN)), honest=True),
    "spends_above_maximum": _contract(code.spending(DEAR)),
    "burns_all": _contract(code.BURNING),
    "invalid_instruction": _contract(code.INVALID),
    "burns_in_token_call": _contract(code.burning_for_callers(_TOKEN_CALLERS)),
    "spends_in_token_call": _contract(code.spending_for_callers(DEAR, _TOKEN_CALLERS)),
    "burns_with_price": _contract(code.burning_with_price()),
    "against_token": _contract(code.against_callers(_TOKEN_CALLERS)),
    "against_origins": _contract(code.against_origins(GAS_PAYERS)),
    "only_much_gas": _contract(code.with_gas_above(1_000_000)),
    "only_little_gas": _contract(code.with_gas_below(150_000)),
    "only_without_price": _contract(code.without_price()),
    "only_with_price": _contract(code.with_price()),
    "only_without_base_fee": _contract(code.without_base_fee()),
    "only_this_block": WalletKind(
        Form.CONTRACT, lambda _, pending_head: code.until_block(pending_head.block), waits=True
    ),
    "only_earlier_block": WalletKind(Form.CONTRACT, lambda _, pending_head: code.until_block(pending_head.block - 1)),
    "only_this_time": WalletKind(Form.CONTRACT, lambda _, pending_head: code.until_time(pending_head.time), waits=True),
    "long_result": _contract(code.long_result()),
    "long_revert": _contract(code.long_revert()),
    "short_result": _contract(code.SHORT_RESULT),
    "dirty_result": _contract(code.DIRTY_RESULT),
    "empty_result": _contract(code.EMPTY_RESULT),
    "reverts": _contract(code.REVERTING),
    "rejects": _contract(code.REJECTING),
    "reenters_token_transfer": _contract(code.calling(TOKEN, _TRANSFER)),
    "reenters_token_authorization": _contract(code.calling(TOKEN, _RECEIVE)),
    "reenters_checkout": _contract(code.calling(CHECKOUT, _CAPTURE)),
    "proxy_to_rejecting": _switching(code.REJECTING),
    "proxy_to_burning": _switching(code.INVALID),
    "proxy_to_dear": _switching(code.spending(DEAR)),
    "proxy_back_and_forth": _switching(code.INVALID, returns=True),
    "proxy_spending_to_burning": _switching(code.INVALID, first=code.spending(NEARLY)),
    "proxy_spending_back_and_forth": _switching(code.INVALID, first=code.spending(NEARLY), returns=True),
    "7702_to_rejecting": _switching(code.REJECTING, form=Form.DELEGATED),
    "7702_to_burning": _switching(code.INVALID, form=Form.DELEGATED),
    "7702_back_and_forth": _switching(code.INVALID, form=Form.DELEGATED, returns=True),
    "7702_spending_to_burning": _switching(code.INVALID, form=Form.DELEGATED, first=code.spending(NEARLY)),
    "7702_undelegated": WalletKind(Form.DELEGATED, _owned_account, _no_code, honest=True),
    "key_to_7702_burning": WalletKind(Form.KEY, _no_code, _constant(code.INVALID)),
    "key_spends": WalletKind(Form.KEY, _no_code, spends=True),
    "contract_spends": WalletKind(Form.CONTRACT, _owned_contract, spends=True),
}
