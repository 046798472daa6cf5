"""Read access to the token: each read as a request, for batches, and as a call."""

from dataclasses import dataclass

from foreseal.payments.abi import WORD_SIZE, encode_values, with_bytes
from foreseal.payments.chain import node_requests
from foreseal.payments.chain.errors import ChainError, Incomplete, Reverted
from foreseal.payments.chain.node import BlockTag, ChainNode, NodeRequest
from foreseal.payments.chain.token import (
    ALLOWANCE,
    AUTHORIZATION_STATE,
    BALANCE_OF,
    DOMAIN_SEPARATOR,
    IS_AUTHORIZED,
    IS_BLACKLISTED,
    IS_VALID_SIGNATURE,
    PAUSED,
    PERMIT_NONCES,
    POLICY_ID,
)


@dataclass(frozen=True, slots=True)
class TokenReads:
    """Requests for the state of a token contract as of a block."""

    address: str

    def authorization_used(self, payer: str, nonce: bytes, block: BlockTag) -> NodeRequest[bool]:
        """Request if an authorization is used or canceled. Only the token's logs distinguish the two."""
        return self._number(AUTHORIZATION_STATE + encode_values(payer, nonce), block).map(bool)

    def balance(self, holder: str, block: BlockTag) -> NodeRequest[int]:
        """Request a balance in smallest units."""
        return self._number(BALANCE_OF + encode_values(holder), block)

    def allowance(self, owner: str, spender: str, block: BlockTag) -> NodeRequest[int]:
        """Request an allowance in smallest units."""
        return self._number(ALLOWANCE + encode_values(owner, spender), block)

    def paused(self, block: BlockTag) -> NodeRequest[bool]:
        """Request if the token is paused and no tokens can move."""
        return self._number(PAUSED, block).map(bool)

    def blacklisted(self, holder: str, block: BlockTag) -> NodeRequest[bool]:
        """Request if the account may neither send nor receive."""
        return self._number(IS_BLACKLISTED + encode_values(holder), block).map(bool)

    def permit_nonce(self, owner: str, block: BlockTag) -> NodeRequest[int]:
        """Request the nonce that the owner's next permit must have (EIP-2612)."""
        return self._number(PERMIT_NONCES + encode_values(owner), block)

    def policy(self, scope: bytes, block: BlockTag) -> NodeRequest[int | None]:
        """Request the holder policy of a scope.

        None if it restricts no account, or if the token has no policies.
        """
        plain = node_requests.call(self.address, POLICY_ID + encode_values(scope), block)

        def read(answer: object) -> int | None:
            output = plain.read(answer)
            # A contract without this function may return nothing.
            return int.from_bytes(output[:WORD_SIZE], "big") or None if len(output) >= WORD_SIZE else None

        def recover(error: ChainError) -> None:
            if not isinstance(error, Reverted | Incomplete):
                raise error

        return NodeRequest(plain.method, plain.params, read, recover)

    def authorized(self, policy: int, holder: str, block: BlockTag) -> NodeRequest[bool]:
        """Request if a holder policy allows an account."""
        return self._number(IS_AUTHORIZED + encode_values(policy, holder), block).map(bool)

    def domain_separator(self, block: BlockTag) -> NodeRequest[bytes]:
        """Request the domain separator of the token's signatures (EIP-712)."""
        return node_requests.call(self.address, DOMAIN_SEPARATOR, block)

    def _number(self, data: bytes, block: BlockTag) -> NodeRequest[int]:
        return number_request(self.address, data, block)


@dataclass(frozen=True, slots=True)
class Token:
    """Read access to a token contract as of a block. Every method may raise the node's errors and `Reverted`."""

    node: ChainNode
    address: str

    def authorization_used(self, payer: str, nonce: bytes, block: BlockTag) -> bool:
        """Return True if an authorization is used or canceled. Only the token's logs distinguish the two."""
        return self.node.execute(self._reads.authorization_used(payer, nonce, block))

    def balance(self, holder: str, block: BlockTag) -> int:
        """Return the balance in smallest units."""
        return self.node.execute(self._reads.balance(holder, block))

    def allowance(self, owner: str, spender: str, block: BlockTag) -> int:
        """Return the allowance in smallest units."""
        return self.node.execute(self._reads.allowance(owner, spender, block))

    def paused(self, block: BlockTag) -> bool:
        """Return True if the token is paused and no tokens can move."""
        return self.node.execute(self._reads.paused(block))

    def blacklisted(self, holder: str, block: BlockTag) -> bool:
        """Return True if the account may neither send nor receive."""
        return self.node.execute(self._reads.blacklisted(holder, block))

    def permit_nonce(self, owner: str, block: BlockTag) -> int:
        """Return the nonce that the owner's next permit must have (EIP-2612)."""
        return self.node.execute(self._reads.permit_nonce(owner, block))

    def policy(self, scope: bytes, block: BlockTag) -> int | None:
        """Return the holder policy of a scope. None if it restricts no account, or if the token has no policies."""
        return self.node.execute(self._reads.policy(scope, block))

    def authorized(self, policy: int, holder: str, block: BlockTag) -> bool:
        """Return True if a holder policy allows an account."""
        return self.node.execute(self._reads.authorized(policy, holder, block))

    def domain_separator(self, block: BlockTag) -> bytes:
        """Return the domain separator of the token's signatures (EIP-712)."""
        return self.node.execute(self._reads.domain_separator(block))

    @property
    def _reads(self) -> TokenReads:
        return TokenReads(self.address)


def number_request(contract: str, data: bytes, block: BlockTag) -> NodeRequest[int]:
    """Request the number that a contract returns. `Incomplete` if the result has less than a word."""

    def number(output: bytes) -> int:
        if len(output) < WORD_SIZE:
            raise Incomplete(f"{contract} returned {len(output)} bytes: the contract does not exist at block {block}")
        return int.from_bytes(output[:WORD_SIZE], "big")

    return node_requests.call(contract, data, block).map(number)


def wallet_accepts(wallet: str, digest: bytes, signature: bytes, block: BlockTag) -> NodeRequest[bool]:
    """Request if a wallet with code accepts a signature as its own (ERC-1271)."""
    data = IS_VALID_SIGNATURE + with_bytes(digest, tail=signature)
    return node_requests.call(wallet, data, block).map(lambda output: output[:4] == IS_VALID_SIGNATURE)
