"""A wallet in the page: the provider of lib/pretend-wallet.js, with a development account's key."""

from eth_account.signers.local import LocalAccount
from playwright.sync_api import Page

_CONNECT = """
async ({key, chainId, networks}) => {
  const site = location.pathname.split('/')[1];
  const {PretendWallet} = await import(`/${site}/static/lib/pretend-wallet.js`);
  const bytes = Uint8Array.from(key.match(/../g), (byte) => parseInt(byte, 16));
  window.testRejects = false;
  window.testWallet = new PretendWallet(
    {keys: [bytes], chainId, networks, name: 'Test wallet', approve: () => !window.testRejects});
  window.testWallet.announce();
}
"""


def announce_wallet(page: Page, account: LocalAccount, chain_id: int, networks: dict[int, str]) -> None:
    """Announce a wallet by EIP-6963. It is on the network `chain_id`, and has the nodes of `networks`."""
    key = bytes(account.key).hex()
    named = {hex(number): url for number, url in networks.items()}
    page.evaluate(_CONNECT, {"key": key, "chainId": hex(chain_id), "networks": named})


def reject_requests(page: Page, rejects: bool) -> None:
    """Let the person behind the wallet reject every further request, or approve them again."""
    page.evaluate("(rejects) => { window.testRejects = rejects; }", rejects)
