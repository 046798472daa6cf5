"""A real node with the token and x402's contracts, and accounts: buyers with money, and the token's roles."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
from eth_abi.abi import encode
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

from foreseal._core import newest_genesis
from foreseal.client import Client
from foreseal.payments.chain import ConfirmationPolicy, RpcNode, Token
from foreseal.payments.contracts import TokenGenesis, TokenSetup, addresses, token_alloc, x402_alloc
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.transactions import FeeSettings, LocalSigner, TransactionIntents, TransactionSender
from foreseal.payments.typed_data import Domain
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.facilitator.settlements import Settlements, Waiter
from live import LiveNode, live_node, wait_for
from live.blocks import pending_number

CHAIN_ID = 84532
NETWORK = f"eip155:{CHAIN_ID}"
TOKEN = addresses.TOKENS[CHAIN_ID]
DOMAIN = Domain("USDC", "2", CHAIN_ID, TOKEN)
FUNDS = 1_000_000_000
PATIENT = Waiter(seconds=20.0)
"""Timeouts on a busy machine, below those of HTTP clients."""


def account(number: int) -> LocalAccount:
    signer: LocalAccount = Account.from_key(keccak(number.to_bytes(32, "big")))
    return signer


FACILITATOR = account(1)
OTHER_FACILITATOR = account(2)
SHOP = account(3)
OWNER, PAUSER, BLACKLISTER = account(4), account(5), account(6)
STRANGER = account(7)
AUTHORIZER = account(8)
BUYERS = [account(100 + number) for number in range(24)]
NEWCOMER = account(200)
"""An account with tokens and no allowance for Permit2."""


class World:
    """The node, and operations on it outside of x402."""

    def __init__(self, live: LiveNode, client: Client) -> None:
        self.live = live
        self.client = client
        self.opened: list[Database] = []

    @property
    def url(self) -> str:
        return self.live.url

    def node(self) -> RpcNode:
        return RpcNode(self.client)

    def ledger(self, url: str) -> Ledger:
        """Return a ledger whose database is closed at the end of the test."""
        self.opened.append(Database(url))
        return Ledger(self.opened[-1], self.time)

    def close(self) -> None:
        """Close the resources of a test."""
        while self.opened:
            self.opened.pop().close()

    def rpc(self, method: str, *params: Any) -> Any:
        return self.client.request(method, *params)

    def token(self) -> Token:
        return Token(self.node(), TOKEN)

    def balance(self, holder: str) -> int:
        """Return the pre-confirmed balance in smallest units."""
        return self.token().balance(holder, "pending")

    def act(self, sender: LocalAccount, signature: str, *values: Any, to: str = TOKEN) -> dict[str, Any]:
        """Send a transaction of an account, whose receipt must report success."""
        kinds = signature[signature.index("(") + 1 : -1]
        data = keccak(text=signature)[:4] + encode(kinds.split(",") if kinds else [], values)
        sent = self.rpc("eth_sendTransaction", {"from": sender.address, "to": to, "data": "0x" + data.hex()})
        receipt = self.receipt(sent)
        assert receipt["status"] == "0x1", receipt
        return receipt

    def receipt(self, hash: str) -> dict[str, Any]:
        receipt: dict[str, Any] = wait_for(
            lambda: self.rpc("eth_getTransactionReceipt", hash), 20, f"receipt of {hash}"
        )
        return receipt

    def sent_by(self, sender: str) -> int:
        """Return the number of an account's transactions that are on the chain or pre-confirmed."""
        return int(self.rpc("eth_getTransactionCount", sender, "pending"), 16)

    def receipts_of(self, sender: str, since: int = 0) -> list[dict[str, Any]]:
        """Return receipts of all transactions of an account from block `since` on, including reverted ones."""
        # The pending block first: all blocks before it are sealed, so each is found by its number however late.
        pending = self.rpc("eth_getBlockByNumber", "pending", True)
        numbers = range(since, int(pending["number"], 16))
        blocks = [*(self.rpc("eth_getBlockByNumber", hex(number), True) for number in numbers), pending]
        sent = [each for block in blocks for each in block["transactions"]]
        return [self.receipt(each["hash"]) for each in sent if each["from"].lower() == sender.lower()]

    @property
    def pending(self) -> int:
        """Number of the pending block."""
        return pending_number(self.live.rpc)

    @contextlib.contextmanager
    def rollback(self) -> Iterator[None]:
        """Restore the chain and its clock at the end of the context."""
        snapshot = self.rpc("evm_snapshot")
        try:
            yield
        finally:
            assert self.rpc("evm_revert", snapshot)

    def finalize(self, seconds: int = 0) -> None:
        """Let this many seconds pass, and make all transactions final."""
        if seconds:
            self.rpc("evm_increaseTime", hex(seconds))
        self.rpc("anvil_mine", "0x5")

    def facilitator(self, url: str, key: LocalAccount = FACILITATOR, **patience: Any) -> Facilitator:
        """Return one with its own database, or a second process on the same."""
        ledger = self.ledger(url)
        sender = TransactionSender(
            ledger, self.node(), TransactionIntents(CHAIN_ID, LocalSigner(key)), ConfirmationPolicy(), FeeSettings()
        )
        return Facilitator(Settlements(ledger, sender, replace(PATIENT, **patience)))

    def time(self) -> int:
        """Return the time of the pending block."""
        return int(self.rpc("eth_getBlockByNumber", "pending", False)["timestamp"], 16)


@contextlib.contextmanager
def world(folder: Path, *arguments: str) -> Iterator[World]:
    """Provide a separate node with steps of 50 ms; a block is final once two blocks follow it.

    `arguments` are further options of `foreseal dev`.
    """
    everybody = [FACILITATOR, OTHER_FACILITATOR, SHOP, OWNER, PAUSER, BLACKLISTER, STRANGER, *BUYERS]
    setup = TokenSetup(OWNER.address, OWNER.address, PAUSER.address, BLACKLISTER.address, name="USDC")
    token = TokenGenesis(setup, balances={each.address: FUNDS for each in (*BUYERS, NEWCOMER)})
    genesis = orjson.loads(newest_genesis(CHAIN_ID))
    genesis["alloc"] |= {each.address.lower(): {"balance": hex(10**21)} for each in everybody}
    genesis["alloc"] |= token_alloc(token, CHAIN_ID) | x402_alloc()
    path = folder / "genesis.json"
    path.write_bytes(orjson.dumps(genesis))
    depths = ("--safe-depth", "1", "--finalized-depth", "2")
    with live_node("--genesis", str(path), *depths, *arguments) as live, Client(live.url) as client:
        made = World(live, client)
        made.rpc("anvil_autoImpersonateAccount", True)
        sent = []
        for buyer in BUYERS:
            data = keccak(text="approve(address,uint256)")[:4] + encode(
                ["address", "uint256"], [addresses.PERMIT2, 2**255]
            )
            call = {"from": buyer.address, "to": TOKEN, "data": "0x" + data.hex()}
            sent.append(made.rpc("eth_sendTransaction", call))
        for each in sent:
            assert made.receipt(each)["status"] == "0x1"
        yield made
