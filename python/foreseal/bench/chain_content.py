"""The content of every node: funded accounts, a token, sparse blocks, and dense blocks full of token transfers."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from foreseal._core import derive_accounts, sign_transactions
from foreseal.bench import token
from foreseal.codec import keccak, rlp_encode

MNEMONIC = "test test test test test test test test test test test junk"
"""Mnemonic of the accounts that development nodes fund."""
GWEI, ETHER = 10**9, 10**18
FEES = 100 * GWEI, GWEI
"""Maximum fee and maximum priority fee per gas of every transaction, in wei."""
SUPPLY = 10**30
ALLOWANCE = 20 * ETHER
"""Ether of every sender, in wei."""
SENDERS, OWNERS = 100, 100
_CREATION_GAS, _TRANSFER_GAS, _TOKEN_GAS = 1_000_000, 21_000, 60_000

TransferOrder = tuple[bytes | None, int, int, bytes]
"""Fields of a transaction: to, value in wei, gas limit, data."""


@dataclass(frozen=True, slots=True)
class SignedTransaction:
    """A signed transaction and its hash, both as 0x hex."""

    raw: str
    hash: str


@dataclass
class BenchAccount:
    """A private key with the nonce of its next transaction."""

    address: bytes
    key: bytes = field(repr=False)
    nonce: int = 0

    def sign(self, chain_id: int, orders: Sequence[TransferOrder]) -> list[SignedTransaction]:
        """Sign transactions with the next nonces."""
        signed = sign_transactions(self.key, chain_id, FEES, self.nonce, orders)
        self.nonce += len(orders)
        return [SignedTransaction("0x" + raw.hex(), "0x" + digest.hex()) for raw, digest in signed]


def account(index: int) -> BenchAccount:
    """Return the account with this index of the mnemonic, derived like the accounts of development nodes."""
    return accounts(index + 1)[index]


def accounts(count: int) -> list[BenchAccount]:
    """Return the first accounts of the mnemonic."""
    pairs = derive_accounts(MNEMONIC, count)
    return [BenchAccount(bytes.fromhex(address[2:]), bytes.fromhex(key[2:])) for address, key in pairs]


def owner(number: int) -> bytes:
    """Return an address that receives tokens and ether but never sends: its balances are the same on every node."""
    return keccak(b"owner %d" % number)[12:]


def native(to: bytes, wei: int = 1) -> TransferOrder:
    """Return a plain ether transfer."""
    return to, wei, _TRANSFER_GAS, b""


@dataclass(frozen=True)
class ContentShape:
    """Numbers of blocks and transfers."""

    blocks: int = 2_100
    dense: int = 50
    """Number of dense blocks: the last block but one, and each block that is `every` before a dense one."""
    transfers: int = 100
    """Token transfers in a dense block."""
    every: int = 25

    def __post_init__(self) -> None:
        if self.blocks < 2 or self.dense < 1 or self.transfers < 1:
            raise ValueError("at least two blocks, of which one is dense, and one transfer in it are needed")
        if self.dense * self.every > self.blocks:
            raise ValueError(f"{self.dense} dense blocks, each {self.every} after the other, are not in {self.blocks}")

    def is_dense(self, block: int) -> bool:
        """Return True if this block of the content, counted from 0, is dense."""
        before_end = self.blocks - 2 - block
        return before_end >= 0 and before_end % self.every == 0 and before_end // self.every < self.dense


class ChainContent:
    """The transactions of one chain, block by block; the same for the same chain ID and shape."""

    def __init__(self, chain_id: int, shape: ContentShape, funder: BenchAccount) -> None:
        """`funder` has ether and sends every transaction, so each block has only one valid transaction order."""
        self.chain_id, self.shape = chain_id, shape
        self._funder = funder
        address = keccak(rlp_encode([funder.address, _number(funder.nonce)]))[12:]
        self.token = address
        self.senders = [BenchAccount(sender.address, sender.key) for sender in accounts(SENDERS + 20)[20:]]

    def first(self) -> list[list[SignedTransaction]]:
        """Return the blocks that precede the shape: the token's creation, then ether and tokens for the senders."""
        creation: TransferOrder = (None, 0, _CREATION_GAS, token.creation(SUPPLY))
        ether = [native(sender.address, ALLOWANCE) for sender in self.senders]
        tokens = [self.token_transfer(sender.address, 10**18) for sender in self.senders]
        return [self._funder.sign(self.chain_id, orders) for orders in ([creation], ether, tokens)]

    def block(self, number: int) -> list[SignedTransaction]:
        """Return the transactions of a block of the shape, counted from 0. Blocks must be requested in order."""
        if not self.shape.is_dense(number):
            return self._funder.sign(self.chain_id, [native(owner(number % OWNERS), 1 + number)])
        orders = [self.token_transfer(owner(at % OWNERS), 1 + at) for at in range(self.shape.transfers)]
        return self._funder.sign(self.chain_id, orders)

    def token_transfer(self, to: bytes, amount: int) -> TransferOrder:
        """Return a token transfer."""
        return self.token, 0, _TOKEN_GAS, token.transfer(to, amount)


def _number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8)
