"""The start-up message of `foreseal dev`."""

from typing import TYPE_CHECKING

from foreseal._core import derive_accounts
from foreseal.cli.styled_lines import StyledLines
from foreseal.server.settings import DevChain, Settings
from foreseal.server.settings.durations import format_duration
from foreseal.server.sockets.address import is_loopback

if TYPE_CHECKING:
    from foreseal.payments.contracts.development import DevelopmentContracts

_CURL = """curl -s {url} -H 'Content-Type: application/json' \\
  -d '{{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["pending",false]}}'"""

_ENDPOINTS = {
    "/preconfirmed": "for wallets, scripts and tests: latest is the newest step",
    "/sealed": "for indexers: nothing before its block is sealed",
}

_REACHABLE = """ Any client that reaches it can use the keys above, spend
  from any account, and change the chain, its balances and its clock. The check of the Host name (--allowed-host)
  rejects web pages only."""


class Banner:
    """URL, chain, accounts and an example call. Raises ValueError for an invalid mnemonic."""

    def __init__(self, settings: Settings, *, persistent: bool) -> None:
        """`persistent` means that the data folder persists after exit."""
        self._settings = settings
        self._persistent = persistent
        dev = settings.dev
        self._accounts = derive_accounts(dev.mnemonic, dev.accounts) if dev else []
        self.people: DevelopmentContracts | None = None
        """Roles of the accounts, if the chain has payments."""

    @property
    def addresses(self) -> list[str]:
        """The addresses of the accounts."""
        return [address for address, _ in self._accounts]

    def show(self, url: str) -> None:
        """Print the message to standard output."""
        lines = StyledLines()
        settings, dev = self._settings, self._settings.dev
        step, block_time = format_duration(settings.step), format_duration(settings.block_time)
        blocks = f"sealed every {block_time}, a pre-confirmed step every {step}"
        if settings.automine:
            blocks = "one per transaction, sealed immediately (automine)"
        folder = "a temporary folder, deleted at exit (--datadir retains one)"
        if self._persistent:
            folder = str(settings.datadir)
        lines.print(f"\n{lines.style('Foreseal', bold=True)} development chain\n")
        lines.print(f"  URL       {lines.style(url, 'green', bold=True)}")
        for path, users in _ENDPOINTS.items():
            lines.print(f"            {lines.style(f'{url}{path}', 'green')}  {users}")
        if settings.is_explorer_public:
            lines.print(f"  Explorer  {lines.style(f'{url}/explorer', 'green', bold=True)}")
        lines.print(f"  Transport {settings.listen.transport}")
        lines.print(f"  Chain id  {dev.chain_id if dev else f'from {settings.genesis}'}")
        lines.print(f"  Blocks    {blocks}")
        lines.print(f"  Data      {folder}")
        if dev and self._accounts:
            self._show_accounts(lines, dev)
        if self.people is not None:
            self._show_payments(lines, url)
        if not is_loopback(settings.listen.host):
            warning = f"Warning: {settings.listen.host} is not a loopback address."
            lines.print(f"\n  {lines.style(warning, 'red', bold=True)}{_REACHABLE}")
        lines.print("\n  Read the block that is being built:\n")
        lines.print(_CURL.format(url=url))
        lines.print("\n  Press Ctrl-C to stop.\n")

    def _show_accounts(self, lines: StyledLines, dev: DevChain) -> None:
        """Print the accounts with their keys."""
        mnemonic = lines.style(dev.mnemonic, italic=True)
        lines.print(f"\n  Accounts, {dev.balance:,} ether each, from: {mnemonic}")
        for index, (address, key) in enumerate(self._accounts):
            lines.print(f"  {index:>4}  {address}  {lines.dim(key)}{self._role(address)}")
        warning = "These keys are public: funds sent to them on a real chain are lost."
        lines.print(f"  {lines.style(warning, 'yellow', bold=True)}")

    def _role(self, address: str) -> str:
        people = self.people
        if people is None:
            return ""
        named = {people.issuer: "issuer", people.merchant: "merchant", people.facilitator: "facilitator"}
        return f"  {named.get(address, 'buyer')}"

    def _show_payments(self, lines: StyledLines, url: str) -> None:
        """Print the addresses of the payment contracts and the balances of buyers."""
        from foreseal.payments.contracts import development

        lines.print(f"\n  Payments: {development.FUNDS // 10**6:,} {development.NAME} for each buyer\n")
        for name, address in (
            ("Token", development.TOKEN),
            ("Checkout", development.CHECKOUT),
            ("Payouts", development.PAYOUTS),
            ("Batch capture", development.BATCH_CAPTURE),
        ):
            lines.print(f"  {name:<13}  {address}")
        lines.print("\n  The contracts of x402 are at their usual addresses (docs/merchants/contracts.md).")
        lines.print(f"  The life cycle of a payment:  {lines.style(f'foreseal pay demo --node {url}', bold=True)}")
