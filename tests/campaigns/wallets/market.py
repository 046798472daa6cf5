"""A merchant's service, a facilitator and a seller with one payee, on a chain that advances on command."""

import itertools
from pathlib import Path

from foreseal.payments.contracts.addresses import PERMIT2
from foreseal.payments.ledger import Ledger
from payments.api.service_harness import ServiceHarness
from payments.fake.node import Disturbed
from payments.people import BATCH_CAPTURE, CHECKOUT
from payments.real.chain import RealChain
from payments.shop import SHOP
from wallets.kinds import Form, PendingHead, WalletKind
from wallets.paid_services import DOMAIN, ETHER, PaidServices, chains_at
from wallets.people import Payer, payer
from wallets.switches import Switches

FUNDS = 1_000_000
"""Tokens of each payer in smallest units."""
FINALITY = 3
"""Depth of the final block."""
_SECTIONS = """
[checkout]
public_url = "https://pay.shop.example"
merchant_name = "Shop"
origins = ["https://shop.example"]
network_name = "Test chain"
rpc_url = "https://rpc.shop.example"
[policy]
blocks = 2
"""


class Market:
    """The chain, the merchant's service, the facilitator and the seller. All use one database and one payee."""

    def __init__(self, url: str, folder: Path, clock: int, *, is_batched: bool = False) -> None:
        """Open everything. `clock` is the chain's first time in seconds since 1970, near that of this machine."""
        self._numbers = itertools.count(1)
        contracts = f'checkout = "{CHECKOUT}"\n' + (f'batch_capture = "{BATCH_CAPTURE}"\n' if is_batched else "")

        self.service = ServiceHarness(url, folder, contracts + _SECTIONS, FINALITY, chains_at(clock))
        self.chain: RealChain = self.service.chain
        self.node: Disturbed = self.service.node
        self.rpc = self.chain.rpc
        self.domain = DOMAIN
        ledger = Ledger(self.service.database, lambda: self.chain.time)
        paid = PaidServices(ledger, self.node, self.chain)
        self.facilitator, self.shop, self.fees = paid.facilitator, paid.shop, paid.sender.fees
        self.switches = Switches(self.chain, self.node)

    def close(self) -> None:
        self.service.close()
        self.chain.close()

    @property
    def pending_head(self) -> PendingHead:
        pending = self.chain.pending
        return PendingHead(pending.number, pending.time)

    def new_payer(self, form: Form = Form.KEY) -> Payer:
        """Return an account with tokens, ether, and an allowance for Permit2; without code."""
        made = payer(next(self._numbers), is_contract=form is Form.CONTRACT)
        fund(self.chain, made)
        return made

    def become(self, payer: Payer, kind: WalletKind) -> None:
        """Give the account the code that the wallet has at the check."""
        self.switches.install(payer, kind, self.pending_head)

    def balance(self, holder: str) -> int:
        """Return the tokens of an account, pre-confirmed, in smallest units."""
        return int(self.chain.pending.state.balances.get(holder.lower()))

    def received(self) -> int:
        """Return the tokens of the payee, pre-confirmed, in smallest units."""
        return self.balance(SHOP.address)

    def work(self) -> int:
        """Run one pass of every periodic work. Return the number of errors of the merchant's worker."""
        self.service.offset += 60
        self.service.process.worker.run_pass()
        self.shop.follow()
        return self.service.process.worker.state.errors

    def settle(self) -> None:
        """Make everything final."""
        for _ in range(3):
            self.work()
            self.chain.mine(FINALITY + 1)
        self.work()


def fund(chain: RealChain, payer: Payer) -> None:
    """Give an account tokens, ether, and an allowance for Permit2."""
    state, address = chain.pending.state, payer.address.lower()
    state.balances.update({address: FUNDS})
    state.allowances.update({(address, PERMIT2): 2**200})
    chain.rpc("anvil_setBalance", payer.address, hex(ETHER))
