"""`[[destinations]]` of `pay.toml`: defaults, and an error for each contradiction between destinations."""

from pathlib import Path

import pytest
from eth_account import Account

from foreseal.cli.main import run
from foreseal.payments.configuration import ConfigurationError, read
from foreseal.payments.destinations.registry import list_signers
from payments.small_configuration import SMALL, TOKEN

EURO = "0x000000000000000000000000000000000000E112"
CONTRACT = "0x0165878A594ca255338adfa4d48449f69242Eb8F"
KEYS = {"SHOP_KEY": "0x" + "11" * 32, "SAME_KEY": "0x" + "11" * 32, "BRANCH_KEY": "0x" + "22" * 32}
SHOP, BRANCH = (Account.from_key(KEYS[name]).address for name in ("SHOP_KEY", "BRANCH_KEY"))
SERVING = SMALL + "[serve]\n"
EURO_TOKEN = f'[destinations.token]\naddress = "{EURO.lower()}"\nsymbol = "EURC"\ndecimals = 2\n'
BRANCH_PAYEE = '[destinations.payee]\nkey_env = "BRANCH_KEY"\n'


def destination(name: str, keys: str = "", sections: str = "") -> str:
    return f'[[destinations]]\nname = "{name}"\n{keys}\n{sections}'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "pay.toml"


def problems(path: Path, text: str) -> list[str]:
    path.write_text(SERVING + text)
    with pytest.raises(ConfigurationError) as error:
        list_signers(read(path), KEYS)
    return [problem.removeprefix(f"{path}: ") for problem in error.value.problems]


def test_first_destination_consists_of_the_main_sections(file: Path) -> None:
    file.write_text(SERVING + f'payouts = "{CONTRACT}"\n')
    (first,) = read(file).list_destinations()
    assert (first.name, first.token.address, first.payee.key_env) == ("default", TOKEN, "SHOP_KEY")
    assert (first.checkout, first.payouts, first.batch_capture) == (None, CONTRACT, None)


def test_missing_token_or_payee_is_that_of_the_main_sections(file: Path) -> None:
    file.write_text(
        SERVING
        + f'payouts = "{CONTRACT}"\n'
        + destination("euro", sections=EURO_TOKEN)
        + destination("branch", f'batch_capture = "{CONTRACT}"', BRANCH_PAYEE)
    )
    configuration = read(file)
    destinations = [(each.name, each.token.symbol, each.payee.key_env) for each in configuration.list_destinations()]
    assert destinations == [
        ("default", "USDC", "SHOP_KEY"),
        ("euro", "EURC", "SHOP_KEY"),
        ("branch", "USDC", "BRANCH_KEY"),
    ]
    # Contracts belong to one token and payee, so they are never those of another destination.
    assert [each.payouts for each in configuration.list_destinations()] == [CONTRACT, None, None]
    signers = list_signers(configuration, KEYS)
    assert [each.signer.address for each in signers] == [SHOP, SHOP, BRANCH]
    assert signers[0].signer is signers[1].signer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[[destinations]]\n",
            ["destinations[0].name: is missing: Unique name of the destination, as requests give it."],
        ),
        (
            destination("Shop 2", sections=BRANCH_PAYEE),
            [
                "destinations[0].name: 'Shop 2' is not a name of 1 to 40 lower-case letters, digits, _ and -, "
                "a letter first"
            ],
        ),
        (
            destination("a", sections=EURO_TOKEN) + destination("a", sections=BRANCH_PAYEE),
            ["destinations[1].name: 'a' is the name of another destination"],
        ),
        (
            destination("default", sections=EURO_TOKEN),
            ["destinations[0].name: 'default' is the name of another destination"],
        ),
        (
            destination("a"),
            ["destinations[0]: has the token and the payee of destination 'default': change token or payee"],
        ),
        (
            destination("a", sections='[destinations.payee]\nkey_env = "SAME_KEY"\n'),
            ["destinations[0]: has the token and the payee of destination 'default': change token or payee"],
        ),
        (
            destination("a", sections=BRANCH_PAYEE + f'[destinations.token]\naddress = "{TOKEN}"\ndecimals = 2\n'),
            ["destinations[0].token.decimals: differs from destination 'default', which has the same token"],
        ),
        (
            f'checkout = "{CONTRACT}"\n' + destination("a", f'checkout = "{CONTRACT}"', BRANCH_PAYEE),
            ["destinations[0].checkout: destination 'default' has the same contract, which has one token and payee"],
        ),
        (
            f'batch_capture = "{CONTRACT}"\n' + destination("a", f'batch_capture = "{CONTRACT}"', EURO_TOKEN),
            [
                "destinations[0].batch_capture: destination 'default' has the same contract, "
                "which has one token and payee"
            ],
        ),
        (
            destination("a", f'batch_capture = "{BRANCH}"', BRANCH_PAYEE),
            ["destinations[0].batch_capture: must not be the payee"],
        ),
        (
            f'batch_capture = "{BRANCH}"\n' + destination("a", sections=BRANCH_PAYEE),
            ["serve.batch_capture: must not be the payee of another destination"],
        ),
        (
            destination("a", f'batch_capture = "{SHOP}"', BRANCH_PAYEE),
            ["destinations[0].batch_capture: must not be the payee of another destination"],
        ),
        (
            destination("a", 'tokn = "x"', EURO_TOKEN),
            ["destinations[0].tokn: is not a key: did you mean token?"],
        ),
        (
            destination("a", sections="[destinations.token]\ndecimals = 2\n"),
            ["destinations[0].token.address: is missing: Address of the token contract."],
        ),
    ],
)
def test_contradictions_are_reported_with_their_key(file: Path, text: str, expected: list[str]) -> None:
    assert problems(file, text) == expected


def test_one_payee_with_two_tokens_and_two_payees_with_one_are_valid(file: Path) -> None:
    file.write_text(
        SERVING
        + destination("euro", sections=EURO_TOKEN)
        + destination("branch", sections=BRANCH_PAYEE)
        + destination("branch-euro", sections=EURO_TOKEN + BRANCH_PAYEE)
    )
    assert len(list_signers(read(file), KEYS)) == 4


def check(file: Path) -> int:
    try:
        return run(["pay", "check", str(file)])
    except SystemExit as ended:
        return int(str(ended.code))


def test_the_command_checks_and_lists_every_destination(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SHOP_KEY", "SAME_KEY"):
        monkeypatch.setenv(name, KEYS[name])
    monkeypatch.delenv("BRANCH_KEY", raising=False)
    file.write_text(SERVING + destination("branch", sections=BRANCH_PAYEE))
    assert check(file) == 2
    missing = "the environment variable BRANCH_KEY is not set"
    assert capsys.readouterr().err == f"foreseal: {file}: destinations[0].payee: {missing}\n"
    monkeypatch.setenv("BRANCH_KEY", KEYS["BRANCH_KEY"])
    assert check(file) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{file}: valid, payee {SHOP}",
        f"destination branch: payee {BRANCH}, token {TOKEN} (USDC)",
    ]
    file.write_text(SERVING + destination("a", sections='[destinations.payee]\nkey_env = "SAME_KEY"\n'))
    assert check(file) == 2
    assert "has the token and the payee of destination 'default'" in capsys.readouterr().err
