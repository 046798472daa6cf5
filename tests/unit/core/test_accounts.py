"""Keys of development mnemonics against eth-account."""

import pytest
from eth_account import Account
from eth_account.hdaccount import generate_mnemonic
from eth_account.types import Language

from foreseal._core import derive_accounts

JUNK = "test test test test test test test test test test test junk"


def expected(mnemonic: str, index: int) -> tuple[str, str]:
    Account.enable_unaudited_hdwallet_features()
    account = Account.from_mnemonic(mnemonic, account_path=f"m/44'/60'/0'/0/{index}")
    return account.address, "0x" + bytes(account.key).hex()


def test_the_development_mnemonic_gives_the_published_account() -> None:
    [(address, key)] = derive_accounts(JUNK, 1)
    assert address == "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
    assert key == "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"


@pytest.mark.parametrize("words", [12, 15, 18, 21, 24])
def test_accounts_equal_the_peers(words: int) -> None:
    mnemonic = generate_mnemonic(num_words=words, lang=Language.ENGLISH)
    accounts = derive_accounts(mnemonic, 3)
    assert accounts == [expected(mnemonic, index) for index in range(3)]


@pytest.mark.parametrize("mnemonic", ["", "test", JUNK + " junk", JUNK.replace("junk", "test"), "nonsense " * 12])
def test_invalid_mnemonic_is_rejected(mnemonic: str) -> None:
    with pytest.raises(ValueError, match=r"^mnemonic: "):
        derive_accounts(mnemonic, 1)


def test_number_of_accounts_is_limited() -> None:
    assert derive_accounts(JUNK, 0) == []
    with pytest.raises(ValueError, match="count: 10001 accounts, at most 10000"):
        derive_accounts(JUNK, 10_001)
