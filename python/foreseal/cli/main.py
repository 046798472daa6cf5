"""The command group, and how every command ends: wrong use and failures are one line on stderr."""

from collections.abc import Sequence

import click
from click.exceptions import NoArgsIsHelpError

from foreseal.cli.chain import export_command, import_command
from foreseal.cli.conformance import blocktest_command, statetest_command
from foreseal.cli.db import db_group
from foreseal.cli.dev import dev_command
from foreseal.cli.exits import FAILED, INTERRUPTED, WRONG_USE
from foreseal.cli.journal import journal_group
from foreseal.cli.receipt import receipt_command
from foreseal.cli.run import run_command
from foreseal.errors import NodeError

# Kinds of `NodeError` that another command line would have avoided.
_WRONG_USE_KINDS = {"in-use", "settings", "genesis", "store"}


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="foreseal", prog_name="foreseal", message="%(prog)s %(version)s")
def foreseal() -> None:
    """An Ethereum-compatible layer-2 node whose pending block is real.

    About every 200 ms it publishes a pre-confirmed step with true roots and a true hash. Start with `foreseal dev`.
    """


for command in (
    dev_command,
    run_command,
    import_command,
    export_command,
    db_group,
    journal_group,
    receipt_command,
    statetest_command,
    blocktest_command,
):
    foreseal.add_command(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit code."""
    try:
        code = foreseal.main(arguments, prog_name="foreseal", standalone_mode=False)
    except NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return WRONG_USE
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "foreseal"
        return _end(WRONG_USE, f"{error.format_message()} (see {path} --help)")
    except click.ClickException as error:
        return _end(error.exit_code, error.format_message())
    except NodeError as error:
        return _end(WRONG_USE if error.kind in _WRONG_USE_KINDS else FAILED, error.message)
    except OSError as error:
        return _end(FAILED, str(error))
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    return code or 0


def _end(code: int, message: str) -> int:
    text = " ".join(message.split())
    click.echo(f"foreseal: {text}", err=True)
    return code
