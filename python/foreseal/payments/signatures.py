"""Signature checks for accounts with a key, and for wallets with code (ERC-1271)."""

from foreseal.payments.chain import BlockTag, ChainNode, Reverted
from foreseal.payments.chain.token import wallet_accepts
from foreseal.payments.typed_data import Domain, TypedMessage


class InvalidSignature(ValueError):
    """The expected account did not make the signature."""


_BLOCK: BlockTag = "pending"


def check_signature(node: ChainNode, message: TypedMessage, domain: Domain, signer: str, signature: bytes) -> None:
    """Check a signature at `pending`. Raises `InvalidSignature` and the node's errors.

    A signer with code is checked by ERC-1271 only, as in the token.
    """
    if node.code(signer, _BLOCK):
        try:
            accepted = wallet_accepts(node, signer, message.digest(domain), signature, _BLOCK)
        except Reverted as error:
            raise InvalidSignature(f"signature: the wallet {signer} {error}") from error
        if not accepted:
            raise InvalidSignature(f"signature: the wallet {signer} does not accept it")
        return
    try:
        found = message.signer(domain, signature)
    except ValueError as error:
        raise InvalidSignature(str(error)) from error
    if found != signer:
        raise InvalidSignature(f"signature: signed by {found}, not by {signer}")
