"""A browser wallet with test keys, which behaves like MetaMask."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from eth_account.messages import encode_typed_data
from eth_account.signers.local import LocalAccount
from playwright.sync_api import Page

_SCRIPT = Path(__file__).with_name("wallet_script.js")


@dataclass(frozen=True)
class WalletOptions:
    """State of a wallet when a page loads."""

    chain_id: int = 31337
    chains: tuple[int, ...] = (1, 31337)
    rejects: tuple[str, ...] = ()
    """Methods that the user rejects."""
    unsupported: tuple[str, ...] = ()
    is_locked: bool = False
    announces: bool = True
    """False for a wallet that only sets window.ethereum."""
    switches_during_signature: bool = False
    name: str = "Test wallet"


class BrowserWallet:
    """A wallet that a page finds. Add it before the page loads."""

    def __init__(self, page: Page, accounts: Sequence[LocalAccount], options: WalletOptions | None = None) -> None:
        chosen = options or WalletOptions()
        self._page = page
        self._accounts = {each.address.lower(): each for each in accounts}
        state = {
            "accounts": list(self._accounts),
            "chainId": hex(chosen.chain_id),
            "chains": [hex(each) for each in chosen.chains],
            "rejects": chosen.rejects,
            "unsupported": chosen.unsupported,
            "isLocked": chosen.is_locked,
            "announces": chosen.announces,
            "switchesDuringSignature": chosen.switches_during_signature,
            "name": chosen.name,
        }
        page.expose_function("testWalletSign", self._sign)
        page.add_init_script(_SCRIPT.read_text().replace("/* OPTIONS */ null", orjson.dumps(state).decode()))

    def set(self, name: str, value: Any) -> None:
        """Set a field of its state."""
        self._page.evaluate("([name, value]) => { window.testWallet[name] = value; }", [name, value])

    def switch_accounts(self, *accounts: LocalAccount) -> None:
        """Let the user choose these accounts."""
        self._accounts |= {each.address.lower(): each for each in accounts}
        addresses = [each.address.lower() for each in accounts]
        self._page.evaluate("(accounts) => window.testWallet.switchAccounts(accounts)", addresses)

    def calls(self, method: str) -> list[Any]:
        """Return the parameters of the calls of a method."""
        calls: list[Any] = self._page.evaluate("() => window.testWallet.calls")
        return [call["params"] for call in calls if call["method"] == method]

    def _sign(self, address: str, text: str) -> str:
        message = encode_typed_data(full_message=orjson.loads(text))
        return "0x" + bytes(self._accounts[address.lower()].sign_message(message).signature).hex()
