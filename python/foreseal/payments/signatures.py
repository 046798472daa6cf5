"""Signature checks for accounts with a key, and for wallets with code (ERC-1271)."""

from collections.abc import Sequence
from dataclasses import dataclass

from foreseal.codec import recover_addresses
from foreseal.payments.chain import BlockTag, ChainNode, PendingAnswer, RequestBatch, Reverted, node_requests
from foreseal.payments.chain.token_reads import wallet_accepts
from foreseal.payments.typed_data import Domain, TypedMessage, check_signature_form


class InvalidSignature(ValueError):
    """The expected account did not make the signature."""


_BLOCK: BlockTag = "pending"


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message with the signature that `signer` is expected to have made."""

    message: TypedMessage
    signer: str
    signature: bytes


class SignatureChecks:
    """Checks of many signatures at `pending`.

    A signer with code is checked by ERC-1271 only, as in the token. Execute the batch, then call `read_wallets`, then
    `require` for each position.
    """

    def __init__(self, batch: RequestBatch, domain: Domain, signed: Sequence[SignedMessage]) -> None:
        """Add the requests to the batch, and recover the signers."""
        self._signed = signed
        self._code = [batch.add(node_requests.code(each.signer, _BLOCK)) for each in signed]
        self._digests = [each.message.digest(domain) for each in signed]
        self._found = recover_addresses(self._digests, [each.signature for each in signed])
        self._accepted: dict[int, PendingAnswer[bool]] = {}

    def read_wallets(self, node: ChainNode) -> None:
        """Let the wallets among the signers check their signatures."""
        batch = RequestBatch()
        for position, (each, code) in enumerate(zip(self._signed, self._code, strict=True)):
            if isinstance(code.answer, bytes) and code.answer:
                check = wallet_accepts(each.signer, self._digests[position], each.signature, _BLOCK)
                self._accepted[position] = batch.add(check)
        batch.execute(node)

    def has_code(self, position: int) -> bool:
        """Return True if the signer is a wallet with code. Raises the node's errors."""
        return bool(self._code[position].result())

    def require(self, position: int) -> None:
        """Raise `InvalidSignature` unless the signer made the signature, and the node's errors."""
        each = self._signed[position]
        if self.has_code(position):
            self._require_wallet(each.signer, self._accepted[position])
            return
        try:
            check_signature_form(each.signature)
        except ValueError as error:
            raise InvalidSignature(str(error)) from error
        found = self._found[position]
        if found is None:
            raise InvalidSignature("signature: no key made it")
        if found != each.signer:
            raise InvalidSignature(f"signature: signed by {found}, not by {each.signer}")

    @staticmethod
    def _require_wallet(wallet: str, answer: PendingAnswer[bool]) -> None:
        try:
            accepted = answer.result()
        except Reverted as error:
            raise InvalidSignature(f"signature: the wallet {wallet} {error}") from error
        if not accepted:
            raise InvalidSignature(f"signature: the wallet {wallet} does not accept it")


def check_signature(node: ChainNode, message: TypedMessage, domain: Domain, signer: str, signature: bytes) -> None:
    """Check a signature at `pending`. Raises `InvalidSignature` and the node's errors."""
    batch = RequestBatch()
    checks = SignatureChecks(batch, domain, [SignedMessage(message, signer, signature)])
    batch.execute(node)
    checks.read_wallets(node)
    checks.require(0)
