"""A chain with something to see on every page of the explorer."""

from dataclasses import dataclass

from browser.explorer import ExplorerChain, call_data
from live import DEV_ACCOUNTS, LiveNode
from live.contracts import contract

TRANSFERS = 20


@dataclass(frozen=True)
class ShownPage:
    """A page, and the selector of the first rows of its data."""

    name: str
    path: str
    rows: str


@dataclass(frozen=True)
class ExplorerContent:
    """Addresses and hashes that pages show."""

    token: str
    holder: str
    transfer: str
    block: int

    def pages(self) -> list[ShownPage]:
        """Return every page, with the path of one example."""
        return [
            ShownPage("home", "", ".strip .step"),
            ShownPage("block", f"/block/{self.block}", "tbody tr"),
            ShownPage("transaction", f"/tx/{self.transfer}", ".life-cycle li"),
            ShownPage("trace", f"/tx/{self.transfer}?tab=trace", ".frames-root li"),
            ShownPage("address", f"/address/{self.holder}", "tbody tr"),
            ShownPage("contract", f"/address/{self.token}?tab=contract", "details.function"),
            ShownPage("logs", f"/logs?address={self.token}", ".log"),
            ShownPage("pool", "/pool", "details.function"),
            ShownPage("status", "/status", ".facts"),
        ]


def send_content(node: LiveNode) -> ExplorerContent:
    """Deploy a token, transfer it, and leave a transaction in the queue of the pool."""
    chain = ExplorerChain(node)
    token = chain.deploy(contract("Token"), 10**12)
    holder = DEV_ACCOUNTS[1].address
    transfer = send_transfers(chain, token, holder)
    waiting = ExplorerChain(node, account=2)
    waiting.send(nonce=waiting.nonce() + 1)
    return ExplorerContent(token, holder, transfer, int(str(chain.receipt(transfer)["blockNumber"]), 16))


def send_transfers(chain: ExplorerChain, token: str, holder: str) -> str:
    """Transfer tokens to the holder until a sealed block has all transfers; return the hash of the last one."""
    nonce = chain.nonce()
    for index in range(TRANSFERS):
        data = call_data("transfer(address,uint256)", holder, 1_000_000 + index)
        digest = chain.send(nonce=nonce + index, to=token, data=data, gas=100_000)
    chain.wait_for_status(digest, "sealed")
    return digest
