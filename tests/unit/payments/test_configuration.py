"""`pay.toml`: accepted input, and errors that name file and key for every fault."""

import re
from pathlib import Path

import pytest
from eth_account import Account

from foreseal.cli.main import run
from foreseal.payments.chain import ConfirmationPolicy, ConfirmationTier
from foreseal.payments.configuration import ConfigurationError, Secret, SecretError, read, template
from foreseal.payments.configuration.webhook_targets import ANY_NETWORK, parse_networks
from foreseal.payments.ledger import Finality
from foreseal.payments.transactions import FeeSettings
from foreseal.payments.typed_data import Domain
from payments.small_configuration import SMALL, TOKEN

KEY = "0x" + "11" * 32


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pay.toml"
    path.write_text(SMALL)
    return path


def problems(path: Path, text: str) -> list[str]:
    path.write_text(text)
    with pytest.raises(ConfigurationError) as error:
        read(path)
    assert str(error.value) == "\n".join(error.value.problems)
    return [problem.removeprefix(f"{path}: ") for problem in error.value.problems]


def test_missing_options_have_their_defaults(file: Path) -> None:
    configuration = read(file)
    assert (configuration.node.url, configuration.node.chain_id, configuration.node.websocket) == (
        "http://127.0.0.1:8545",
        84532,
        None,
    )
    assert configuration.token is not None
    assert configuration.token.domain(84532) == Domain("USD Coin", "2", 84532, TOKEN)
    assert configuration.serve.listen == ("127.0.0.1", 8600)
    assert configuration.policy.policy() == ConfirmationPolicy(ConfirmationTier.BLOCKS, 12)
    assert configuration.policy.fees() == FeeSettings()
    assert (configuration.policy.refundable, configuration.webhooks) == (Finality.FINAL, ())


def test_every_option_can_be_set(file: Path) -> None:
    file.write_text(
        SMALL
        + """
[serve]
listen = "[::1]:0"
webhook_networks = ["10.0.0.0/8"]
webhook_concurrency = 64
[policy]
confirmed = "finalized"
refundable = "confirmed"
max_gwei = 7
payer_code_gas = 200_000
[[webhooks]]
url = "http://a.example/hook"
secret_env = "A"
[[webhooks]]
url = "http://b.lan:81/"
secret_file = "b.secret"
events = ["order.stored", "order.created"]
allow_private = true
"""
    )
    configuration = read(file)
    assert configuration.serve.listen == ("::1", 0)
    assert (configuration.policy.policy().tier, configuration.policy.refundable) == (
        ConfirmationTier.FINALIZED,
        Finality.CONFIRMED,
    )
    assert configuration.policy.fees() == FeeSettings(max_fee=7 * 10**9, payer_code_gas=200_000)
    assert [(hook.url, hook.secret()) for hook in configuration.webhooks] == [
        ("http://a.example/hook", Secret(None, "A")),
        ("http://b.lan:81/", Secret(Path("b.secret"), None)),
    ]
    assert [hook.events for hook in configuration.webhooks] == [None, ("order.created", "order.stored")]
    assert [hook.policy(configuration.serve).networks for hook in configuration.webhooks] == [
        parse_networks(["10.0.0.0/8"]),
        ANY_NETWORK,
    ]
    assert configuration.serve.webhook_concurrency == 64


def test_all_errors_are_reported_together(file: Path) -> None:
    text = SMALL.replace("84532", "0").replace(TOKEN, TOKEN.replace("C", "c", 1)).replace("sqlite", "oracle")
    messages = problems(file, text + "[polcy]\n[serve]\nlistn = 1\nlisten = '127.0.0.1'\n[policy]\nblocks = 1.5\n")
    assert messages == [
        "node.chain_id: 0 must be at least 1",
        f"token.address: address: {TOKEN.replace('C', 'c', 1)} has a wrong checksum: a character was mistyped",
        "database.url: oracle must be sqlite or postgresql",
        "polcy: is not a section: did you mean policy?",
        "serve.listn: is not a key: did you mean listen?",
        "serve.listen: '127.0.0.1' is not an address: write HOST:PORT, such as 127.0.0.1:8600",
        "policy.blocks: 1.5 must be a whole number",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("chain_id = 84532", "chain_id = true", "node.chain_id: True must be a whole number"),
        ("chain_id = 84532", "", "node.chain_id: is missing: Required chain id of the node (EIP-155)."),
        ('url = "http://127.0.0.1:8545"', "url = 8545", "node.url: 8545 must be a string in quotes"),
        (
            'url = "http://127.0.0.1:8545"',
            'url = "127.0.0.1"',
            "node.url: '127.0.0.1' is not a URL of http or https or ws or wss",
        ),
        (
            'url = "http://127.0.0.1:8545"',
            'url = "http://127.0.0.1:8545/preconfirmed/"',
            "node.url: confirmations count sealed blocks, so the path must not be /preconfirmed; use /",
        ),
        ('key_env = "SHOP_KEY"', "", "payee: set either a file or an environment variable"),
        (
            'key_env = "SHOP_KEY"',
            'key_env = "A"\nkey_file = "b"',
            "payee: set either a file or an environment variable",
        ),
        ('key_env = "SHOP_KEY"', 'key = "0x1"', "payee.key: is not a key: did you mean key_env?"),
        ('"sqlite:///pay.db"', '"pay.db"', "database.url: must be a database URL, such as sqlite:///pay.db"),
        (
            '"sqlite:///pay.db"',
            '"sqlite:///pay.db?timeout=1"',
            "database.url: option timeout: a SQLite URL has no options",
        ),
        *(
            (
                '"sqlite:///pay.db"',
                f'"postgresql+psycopg://db/pay?sslmode=require&{option}"',
                f"database.url: option {option.partition('=')[0]} is not a connection parameter of PostgreSQL; the"
                " service sets the driver's own options",
            )
            for option in ("prepare_threshold=0", "autocommit=false", "connect_timeou=3")
        ),
        ("[database]", "[[database]]", "database: must be a section: write [database] above its keys"),
        ("[database]", "[webhooks]", "webhooks: must be a list of sections: write [[webhooks]] above each"),
        (
            "[payee]",
            '[facilitator]\ntokens = ["0x1"]\nkey_env = "A"\n[payee]',
            "facilitator.tokens[0]: address: '0x1' is not an address",
        ),
        (
            "[payee]",
            '[[webhooks]]\nurl = "shop"\nsecret_env = "A"\n[payee]',
            "webhooks[0].url: 'shop' is not a URL of http or https",
        ),
        (
            "[payee]",
            '[policy]\nconfirmed = "soon"\n[payee]',
            "policy.confirmed: 'soon' must be 'pre-confirmed', 'sealed', 'blocks', 'safe' or 'finalized'",
        ),
    ],
)
def test_each_error_is_named(file: Path, old: str, new: str, said: str) -> None:
    assert said in problems(file, SMALL.replace(old, new))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('url = "http://127.0.0.1:9000/"', "url: 127.0.0.1 is not a public address: the operator may allow it by"),
        ('url = "https://[::1"', "url: is not a URL"),
        ('url = "https://a.example/"\nevents = ["order.payed"]', "events: 'order.payed' is not an event type: use "),
        ('url = "https://a.example/"\nevents = []', "events: must have at least one event type"),
        ('url = "https://a.example/"\nevents = "order.created"', "events: 'order.created' must be a list"),
        ('url = "https://a.example/"\nallow_private = "yes"', "allow_private: 'yes' must be true or false"),
    ],
)
def test_webhook_errors_are_named(file: Path, lines: str, message: str) -> None:
    (problem,) = problems(file, f'{SMALL}[[webhooks]]\nsecret_env = "A"\n{lines}\n')
    assert problem.startswith(f"webhooks[0].{message}")


def test_private_network_may_be_allowed_for_all_webhooks(file: Path) -> None:
    hook = '[[webhooks]]\nsecret_env = "A"\nurl = "http://127.0.0.1:9000/"\n'
    file.write_text(f'{SMALL}[serve]\nwebhook_networks = ["127.0.0.0/8"]\n{hook}')
    assert read(file).webhooks[0].url == "http://127.0.0.1:9000/"
    (problem,) = problems(file, f'{SMALL}[serve]\nwebhook_networks = ["127.0.0.1/8"]\n')
    assert problem.startswith("serve.webhook_networks: 127.0.0.1/8 has host bits set")


def test_check_explains_a_secret_of_an_earlier_version(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hook = '[[webhooks]]\nsecret_env = "HOOK"\nurl = "https://a.example/"\n'
    file.write_text(SMALL + hook)
    environment = {"SHOP_KEY": KEY, "HOOK": "ab" * 32}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit):
            run(["pay", "check", str(file)])
        error = capfd.readouterr().err
        assert "webhooks[0]: a webhook secret must be whsec_ and the base64 of 24 to 64 bytes" in error
        assert "ab" * 32 not in error
        patch.setenv("HOOK", "whsec_" + "A" * 32)
        assert run(["pay", "check", str(file)]) == 0


def test_an_invalid_file_is_reported(file: Path) -> None:
    assert problems(file, "node = {")[0].startswith(f"{file} is not TOML")
    assert problems(file, "") == ["the section [node] is missing", "the section [database] is missing"]
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        read(file)
    with pytest.raises(ConfigurationError, match="cannot read"):
        read(file.with_name("none.toml"))


def test_a_command_names_the_section_that_it_needs(file: Path) -> None:
    file.write_text(SMALL.replace(f'[token]\naddress = "{TOKEN}"\n', ""))
    configuration = read(file)
    with pytest.raises(ConfigurationError, match=r"the section \[token\] is missing"):
        configuration.need(configuration.token, "token")
    assert configuration.need(configuration.payee, "payee") is configuration.payee


def test_template_is_valid_and_has_every_key(file: Path) -> None:
    text = template()
    file.write_text(text)
    whole = read(file)
    assert whole.payee is not None
    assert whole.payee.secret() == Secret(Path("payee.key"), None)
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    keys = ("websocket", "start_block", "key_env", "payouts", "refundable", "secret_env", "[[webhooks]]")
    assert [key for key in keys if not any(line.startswith(key) for line in lines)] == []
    assert 'symbol = "USDC"' in lines
    # With all commented-out keys enabled, only mutually exclusive keys are wrong.
    file.write_text("\n".join(line for line in lines if re.match(r"\[|\w+ = ", line)))
    with pytest.raises(ConfigurationError) as error:
        read(file)
    assert [problem.split(": ")[1] for problem in error.value.problems] == [
        "payee",
        "destinations[0].payee",
        "facilitator",
        "webhooks[0]",
    ]


def test_template_shows_the_defaults(file: Path) -> None:
    lines = [line.removeprefix("# ") for line in template().splitlines()]
    alternatives = ("key_env", "secret_env", "signer_")
    file.write_text(
        "\n".join(line for line in lines if re.match(r"\[|\w+ = ", line) and not line.startswith(alternatives))
    )
    configuration = read(file)
    for section in (
        configuration.node,
        configuration.token,
        configuration.database,
        configuration.serve,
        configuration.facilitator,
        configuration.policy,
    ):
        assert section is not None
        described = type(section).model_fields
        defaults = {
            name: key.default
            for name, key in described.items()
            if not key.is_required() and key.default not in (None, ())
        }
        assert {name: getattr(section, name) for name in defaults} == defaults
    assert configuration.serve.checkout not in (configuration.token.address, configuration.serve.payouts)


def test_secret_is_read_from_its_source(tmp_path: Path) -> None:
    path = tmp_path / "payee.key"
    path.write_text(KEY + "\n")
    path.chmod(0o600)
    assert Secret(path, None).account({}).address == Account.from_key(KEY).address
    assert Secret(None, "K").account({"K": KEY.removeprefix("0x")}).address == Account.from_key(KEY).address


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (KEY, 0o640, "has mode 640, other users may access it: chmod 600"),
        ("", 0o600, "is empty"),
        ("0x12", 0o600, "must contain a private key"),
        ("0x" + "zz" * 32, 0o600, "must contain a private key"),
        ("0x" + "00" * 32, 0o600, "must contain a private key"),
        ("0x" + "ff" * 32, 0o600, "must contain a private key"),
        ("ä", 0o600, "must be ASCII text"),
    ],
)
def test_invalid_secret_is_rejected_and_not_shown(tmp_path: Path, content: str, mode: int, said: str) -> None:
    path = tmp_path / "payee.key"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(SecretError, match=said) as error:
        Secret(path, None).account({})
    assert not content or content not in str(error.value)


def test_missing_secret_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SecretError, match="K is not set"):
        Secret(None, "K").text({"K": " "})
    with pytest.raises(SecretError, match="cannot read"):
        Secret(tmp_path / "none", None).text({})


def check(file: Path) -> int:
    try:
        return run(["pay", "check", str(file)])
    except SystemExit as ended:
        return int(str(ended.code))


def test_the_command_checks_file_and_secrets(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHOP_KEY", raising=False)
    assert check(file) == 2
    assert capsys.readouterr().err == f"foreseal: {file}: payee: the environment variable SHOP_KEY is not set\n"
    monkeypatch.setenv("SHOP_KEY", KEY)
    assert check(file) == 0
    assert capsys.readouterr().out == f"{file}: valid, payee {Account.from_key(KEY).address}\n"
    file.write_text(SMALL.replace("[token]", "[tokn]"))
    assert check(file) == 2
    assert capsys.readouterr().err == f"foreseal: {file}: tokn: is not a section: did you mean token?\n"


def test_the_command_checks_that_merchants_share_no_payee(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / name for name in ("a.toml", "b.toml")]
    for each in files:
        text = SMALL.replace("pay.db", f"{each.stem}.db").replace("SHOP_KEY", f"{each.stem.upper()}_KEY")
        each.write_text(f'{text}[merchant]\nname = "{each.stem}"\n')
        monkeypatch.setenv(f"{each.stem.upper()}_KEY", KEY)
    with pytest.raises(SystemExit) as ended:
        run(["pay", "check", *map(str, files)])
    assert str(ended.value) == "2"
    payee = Account.from_key(KEY).address
    output = capsys.readouterr().err
    assert f"{files[0]} and {files[1]}: the payee is {payee} on chain 84532 in both" in output
    assert "services with one payee need one database" in output
    monkeypatch.setenv("B_KEY", "0x" + "2" * 64)
    assert run(["pay", "check", *map(str, files)]) == 0


def test_the_command_prints_the_template(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pay", "template"]) == 0
    assert capsys.readouterr().out == template()
