"""Signature checks for accounts with a key, and for wallets with code (ERC-1271)."""

from foreseal.payments.chain import Block, Node, Reverted
from foreseal.payments.chain.token import wallet_accepts
from foreseal.payments.typed_data import Domain, Message


class WrongSignature(ValueError):
    """The expected account did not make the signature."""


_BLOCK: Block = "pending"


def check(node: Node, message: Message, domain: Domain, signer: str, signature: bytes) -> None:
    """Check a signature at `pending`. Raises `WrongSignature` and the node's errors.

    A signer with code is checked by ERC-1271 only, as in the token.
    """
    if node.code(signer, _BLOCK):
        try:
            accepted = wallet_accepts(node, signer, message.digest(domain), signature, _BLOCK)
        except Reverted as error:
            raise WrongSignature(f"signature: the wallet {signer} {error}") from error
        if not accepted:
            raise WrongSignature(f"signature: the wallet {signer} does not accept it")
        return
    try:
        found = message.signer(domain, signature)
    except ValueError as error:
        raise WrongSignature(str(error)) from error
    if found != signer:
        raise WrongSignature(f"signature: of {found}, not of {signer}")
