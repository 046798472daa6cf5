"""Whose signature it is: that of a key, or of a wallet with code (ERC-1271)."""

from foreseal.payments.chain import Block, Node, Reverted
from foreseal.payments.chain.token import wallet_accepts
from foreseal.payments.typed_data import Domain, Message


class WrongSignature(ValueError):
    """The signature is not that of the account it should be of."""


_BLOCK: Block = "pending"


def check(node: Node, message: Message, domain: Domain, signer: str, signature: bytes) -> None:
    """As of `pending`. Raises `WrongSignature`, and what the node raises.

    An account with code is asked by ERC-1271 alone, as the token does.
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
