"""The accounts that `foreseal dev` funds, derived by eth-account and not by the code under test."""

from eth_account import Account
from eth_account.signers.local import LocalAccount

MNEMONIC = "test test test test test test test test test test test junk"

Account.enable_unaudited_hdwallet_features()


def dev_account(index: int) -> LocalAccount:
    """Return the account with this index in the banner."""
    account: LocalAccount = Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{index}")
    return account


def key_of(account: LocalAccount) -> str:
    """Return the private key as 0x hex."""
    return "0x" + bytes(account.key).hex()


DEV_ACCOUNTS = [dev_account(index) for index in range(20)]
