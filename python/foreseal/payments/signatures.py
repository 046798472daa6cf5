"""Signature checks for accounts with a key, and for wallets with code (ERC-1271).

The code of a wallet decides what a call of it costs. Payers with code are therefore found first. All calls for them use
the node's path for strangers (`chain.stranger_calls`), one payer at a time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from foreseal.codec import recover_addresses
from foreseal.payments.chain import (
    BlockTag,
    ChainError,
    ChainNode,
    PendingAnswer,
    RequestBatch,
    Reverted,
    node_requests,
)
from foreseal.payments.chain.token_reads import wallet_accepts
from foreseal.payments.group_operation import DeferredCheck, ItemResult
from foreseal.payments.typed_data import Domain, TypedMessage, check_signature_form

T = TypeVar("T")
R = TypeVar("R")


class InvalidSignature(ValueError):
    """The expected account did not make the signature."""


_BLOCK: BlockTag = "pending"


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message with the signature that `signer` is expected to have made."""

    message: TypedMessage
    signer: str
    signature: bytes


@dataclass(frozen=True, slots=True)
class SignerPath:
    """Node for all calls of a check."""

    node: ChainNode
    has_code: bool
    """True if the signers are wallets with code, whose calls the node limits."""


def signer_path(node: ChainNode, signer: str) -> SignerPath:
    """Return the path of calls for a signer. Raises the node's errors."""
    has_code = bool(node.code(signer, _BLOCK))
    return SignerPath(node.for_party(signer) if has_code else node, has_code)


def check_apart(
    node: ChainNode,
    items: Sequence[T],
    signer: Callable[[T], str | None],
    check: Callable[[Sequence[T], SignerPath], Sequence[R | Exception]],
) -> list[ItemResult[R]]:
    """Check the items of signers without code together. Return a `DeferredCheck` for each item of a wallet.

    `signer` returns None for an item whose check runs no code of the signer. `check` returns a result for each item.
    """
    signers = [signer(item) for item in items]
    codes = _read_codes(node, (account for account in signers if account is not None))
    results: dict[int, ItemResult[R]] = {}
    together: list[int] = []
    for position, account in enumerate(signers):
        has_code = False if account is None else codes[account]
        if isinstance(has_code, ChainError):
            results[position] = has_code
        elif account is not None and has_code:
            path = SignerPath(node.for_party(account), has_code=True)
            results[position] = DeferredCheck(account, partial(_check_one, check, items[position], path))
        else:
            together.append(position)
    checked = check([items[position] for position in together], SignerPath(node, has_code=False)) if together else []
    results.update(zip(together, checked, strict=True))
    return [results[position] for position in range(len(items))]


def _check_one(
    check: Callable[[Sequence[T], SignerPath], Sequence[R | Exception]], item: T, path: SignerPath
) -> R | Exception:
    (result,) = check([item], path)
    return result


def _read_codes(node: ChainNode, accounts: Iterable[str]) -> dict[str, bool | ChainError]:
    """Return for each account if it has code, or the error of the node."""
    batch = RequestBatch()
    codes = {account: batch.add(node_requests.code(account, _BLOCK)) for account in dict.fromkeys(accounts)}
    batch.execute(node)
    return {
        account: code.answer if isinstance(code.answer, ChainError) else bool(code.result())
        for account, code in codes.items()
    }


class SignatureChecks:
    """Checks of many signatures at `pending`.

    A signer with code is checked by ERC-1271 only, as in the token. Execute the batch, then call `require` for each
    position.
    """

    def __init__(self, batch: RequestBatch, domain: Domain, signed: Sequence[SignedMessage], *, has_code: bool) -> None:
        """Add the requests to the batch if the signers have code, else recover the signers."""
        self._signed = signed
        self._accepted: list[PendingAnswer[bool]] | None = None
        self._recovered: list[str | None] = []
        digests = [each.message.digest(domain) for each in signed]
        if has_code:
            self._accepted = [
                batch.add(wallet_accepts(each.signer, digest, each.signature, _BLOCK))
                for each, digest in zip(signed, digests, strict=True)
            ]
        else:
            self._recovered = recover_addresses(digests, [each.signature for each in signed])

    def require(self, position: int) -> None:
        """Raise `InvalidSignature` unless the signer made the signature, and the node's errors."""
        each = self._signed[position]
        if self._accepted is not None:
            self._require_wallet(each.signer, self._accepted[position])
            return
        try:
            check_signature_form(each.signature)
        except ValueError as error:
            raise InvalidSignature(str(error)) from error
        recovered = self._recovered[position]
        if recovered is None:
            raise InvalidSignature("signature: no key made it")
        if recovered != each.signer:
            raise InvalidSignature(f"signature: signed by {recovered}, not by {each.signer}")

    @staticmethod
    def _require_wallet(wallet: str, answer: PendingAnswer[bool]) -> None:
        try:
            accepted = answer.result()
        except Reverted as error:
            raise InvalidSignature(f"signature: the wallet {wallet} {error}") from error
        if not accepted:
            raise InvalidSignature(f"signature: the wallet {wallet} does not accept it")


def check_signature(path: SignerPath, message: TypedMessage, domain: Domain, signer: str, signature: bytes) -> None:
    """Check a signature at `pending`. Raises `InvalidSignature` and the node's errors."""
    batch = RequestBatch()
    checks = SignatureChecks(batch, domain, [SignedMessage(message, signer, signature)], has_code=path.has_code)
    batch.execute(path.node)
    checks.require(0)
