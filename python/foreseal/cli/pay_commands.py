"""Arguments and help of the `foreseal pay` commands, without the packages that the commands need."""

from pathlib import Path

import click

from foreseal.cli.extra_command import ExtraCommand
from foreseal.cli.options import FILE, FOLDER, Decorated, ParsedValue
from foreseal.payments.api.roles import Role
from foreseal.server.logs import FORMATS


def configured(command: Decorated) -> Decorated:
    """Add the option --config, which the command requires."""
    return click.option(
        "--config", type=FILE, required=True, help="Configuration file; `foreseal pay template` prints one."
    )(command)


def upgrading(command: Decorated) -> Decorated:
    """Add the flag --upgrade-database."""
    return click.option(
        "--upgrade-database",
        is_flag=True,
        help="First upgrade a database of an earlier version; no other process may use it.",
    )(command)


def _address(text: str) -> str:
    from foreseal.payments.typed_data import address

    return address(text, "address")


@click.command("check", cls=ExtraCommand, extra="payments", implementation="pay_check")
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="FILE...")
def check_command(files: tuple[Path, ...]) -> None:
    """Print every error in each configuration FILE and its secrets; exit 2 if there is one.

    Several files are those of one process: conflicts between them are errors, such as one payee with two databases.
    Does not connect to the node. Connects to a PostgreSQL database that answers, only to find a pooler that the
    services cannot use.
    """
    from foreseal.cli.pay_check import check

    check(files)


@click.command("account", cls=ExtraCommand, extra="payments", implementation="pay_account")
@click.argument("config", type=FILE)
@click.option("--free", type=click.IntRange(min=0), metavar="NONCE", help="End the transaction with this nonce first.")
@click.option("--account", type=ParsedValue("ADDRESS", _address), help="Only this account.  [default: all of CONFIG]")
def account_command(config: Path, free: int | None, account: str | None) -> None:
    """List the transactions of each account in CONFIG, payees and facilitator, that are not final, and why they wait.

    All transactions of an account wait for the first one. The service itself ends one that the node rejects for good.
    --free ends one that the node rejects for any other reason, such as a fee limit of the node: an empty transfer takes
    its account nonce. What it served fails, and can be done again.
    """
    from foreseal.cli.pay_account import show_accounts

    show_accounts(config, free, account)


@click.command("template", cls=ExtraCommand, extra="payments", implementation="pay_check")
def template_command() -> None:
    """Print a configuration file that documents every key and its default."""
    from foreseal.cli.pay_check import print_template

    print_template()


@click.command("demo", cls=ExtraCommand, extra="payments", implementation="pay_demo")
@click.option("--node", "url", metavar="URL", help="Running `foreseal dev --payments`.  [default: start one]")
@click.option("--shop", is_flag=True, help="Start a shop with chain, merchant service, checkout and explorer instead.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port of the shop.  [default: any free port]")
@click.option("--datadir", type=FOLDER, help="Folder of the shop's chain and database.  [default: a temporary folder]")
def demo_command(url: str | None, shop: bool, port: int | None, datadir: Path | None) -> int:
    """Show the life cycle of a payment: order, capture, refunds, void, cancellation, expiry.

    Acts as merchant and buyer on a development chain, prints each state, attempts invalid operations, and advances the
    chain's clock. Stores nothing outside the chain.

    With --shop, it serves a small shop instead and prints its links. Shoppers pay on the checkout page with their
    wallet or a pretend one. Ctrl-C stops all processes.
    """
    if shop:
        if url is not None:
            raise click.UsageError("--shop starts its own node: omit --node")
        from foreseal.cli.pay_shop import serve_shop

        return serve_shop(port or 0, datadir)
    if port is not None or datadir is not None:
        raise click.UsageError("--port and --datadir belong to --shop")
    from foreseal.cli.pay_demo import play_demo

    play_demo(url)
    return 0


@click.command("serve", cls=ExtraCommand, extra="payments", implementation="pay_serve")
@click.option(
    "--config",
    "configs",
    type=FILE,
    multiple=True,
    required=True,
    help="Configuration file; `foreseal pay template` prints one. Repeat it for each merchant of the process.",
)
@click.option(
    "--log",
    "level",
    default="warn,foreseal=info",
    show_default=True,
    help="Log level, optionally followed by levels of targets.",
)
@click.option("--log-format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Log format.")
@upgrading
def serve_command(configs: tuple[Path, ...], level: str, form: str, upgrade_database: bool) -> None:
    """Serve merchants: orders, captures, refunds and payouts over HTTP, webhooks, and background processing.

    A merchant with a name (`merchant.name`) is served below /NAME, any other one at the root. Several merchants need
    names, databases and payees of their own. Several processes may share one PostgreSQL database. `foreseal pay keys
    create` creates API keys. Ctrl-C stops it.
    """
    from foreseal.cli.pay_serve import serve

    serve(configs, level, form, upgrade=upgrade_database)


@click.command("facilitator", cls=ExtraCommand, extra="x402", implementation="pay_facilitator")
@configured
@upgrading
def facilitator_command(config: Path, upgrade_database: bool) -> None:
    """Verify and settle x402 payments for sellers, and pay the gas: /verify, /settle, /supported, /status.

    Several processes may share one PostgreSQL database and one key. Ctrl-C stops it.
    """
    from foreseal.cli.pay_facilitator import facilitate

    facilitate(config, upgrade=upgrade_database)


@click.command("spent", cls=ExtraCommand, extra="x402", implementation="pay_spent")
@click.option(
    "--database", "url", required=True, metavar="URL", help="Database of the buyer, such as sqlite:///buyer.db."
)
@click.option("--payer", type=ParsedValue("ADDRESS", _address), help="Show only this account.")
@click.option(
    "--node", "nodes", multiple=True, metavar="URL", help="Query this node for the outcome of reserved amounts first."
)
@upgrading
def spent_command(url: str, payer: str | None, nodes: tuple[str, ...], upgrade_database: bool) -> None:
    """Print spent, reserved and released amounts; an amount is reserved while its outcome is unknown.

    Amounts are in the smallest unit of each token; days are in UTC.
    """
    from foreseal.cli.pay_spent import print_spent

    print_spent(url, payer, nodes, upgrade=upgrade_database)


@click.group("db")
def db_group() -> None:
    """Show or upgrade the schema of the database that a configuration file names."""


@db_group.command("upgrade", cls=ExtraCommand, extra="payments", implementation="pay_db")
@click.argument("config", type=FILE)
def upgrade_command(config: Path) -> None:
    """Upgrade the database of CONFIG to the schema of this version, in one transaction.

    Stop all processes that use the database, and back it up first: an upgrade cannot be undone.
    """
    from foreseal.cli.pay_db import upgrade

    upgrade(config)


@db_group.command("current", cls=ExtraCommand, extra="payments", implementation="pay_db")
@click.argument("config", type=FILE)
def current_command(config: Path) -> None:
    """Print the schema of the database of CONFIG."""
    from foreseal.cli.pay_db import print_current

    print_current(config)


@db_group.command("check", cls=ExtraCommand, extra="payments", implementation="pay_db")
@click.argument("config", type=FILE)
def check_schema_command(config: Path) -> None:
    """Exit with 1 if the database of CONFIG needs an upgrade, or has a newer or an unreleased schema."""
    from foreseal.cli.pay_db import check_schema

    check_schema(config)


@click.group("keys")
def keys_group() -> None:
    """Create, list and revoke API keys of `foreseal pay serve`. A running service applies changes at once."""


@keys_group.command("create", cls=ExtraCommand, extra="payments", implementation="pay_keys")
@click.argument("name")
@configured
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    required=True,
    help="reader: read; cashier: orders; refunder: refunds; admin: everything.",
)
def create_command(name: str, config: Path, role: str) -> None:
    """Create an API key called NAME and print it. Only its hash is stored: it cannot be printed again."""
    from foreseal.cli.pay_keys import create_key

    create_key(name, config, Role(role))


@keys_group.command("list", cls=ExtraCommand, extra="payments", implementation="pay_keys")
@configured
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(config: Path, as_json: bool) -> None:
    """Show all keys without their secrets, including revoked ones."""
    from foreseal.cli.pay_keys import list_keys

    list_keys(config, as_json=as_json)


@keys_group.command("revoke", cls=ExtraCommand, extra="payments", implementation="pay_keys")
@click.argument("key")
@configured
def revoke_command(key: str, config: Path) -> None:
    """Revoke the KEY with this ID or name: it is rejected from now on."""
    from foreseal.cli.pay_keys import revoke_key

    revoke_key(key, config)
