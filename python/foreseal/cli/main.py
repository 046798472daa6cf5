"""The command group and the exit of every command: usage errors and failures are one line on stderr."""

import sys
from collections.abc import Sequence
from typing import cast

import click
from click.exceptions import NoArgsIsHelpError

from foreseal.cli.exit_codes import FAILED, INTERRUPTED, USAGE_ERROR
from foreseal.cli.lazy_commands import LazyCommands
from foreseal.errors import NodeError

_COMMANDS = {
    "Run a node": {
        "dev": "dev:dev_command",
        "run": "run:run_command",
        "cluster": "cluster:cluster_group",
        "handover": "handover:handover_command",
        "top": "top:top_command",
    },
    "Settings and keys": {
        "config": "config:config_group",
        "keys": "keys:keys_group",
        "completion": "completion:completion_command",
    },
    "Chain data": {
        "genesis": "genesis:genesis_command",
        "import": "chain_files:import_command",
        "export": "chain_files:export_command",
        "backup": "backup:backup_command",
        "restore": "backup:restore_command",
        "db": "db:db_group",
        "journal": "journal:journal_group",
    },
    "Payments and pre-confirmations": {"pay": "pay:pay_group", "verify-receipt": "verify_receipt:receipt_command"},
    "Measure and verify": {
        "bench": "bench:bench_command",
        "statetest": "conformance:statetest_command",
        "blocktest": "conformance:blocktest_command",
    },
}
"""Commands by group, each with its path below `foreseal.cli`."""


@click.group(
    cls=LazyCommands,
    groups=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="foreseal", prog_name="foreseal", message="%(prog)s %(version)s")
def foreseal() -> None:
    """An Ethereum-compatible layer-2 node whose pending block is real.

    About every 200 ms it publishes a pre-confirmed step with real roots and a real hash. Start with `foreseal dev`.

    Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted.
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        code = foreseal.main(arguments, prog_name="foreseal", standalone_mode=False)
    except NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return USAGE_ERROR
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else _command_path(sys.argv[1:] if arguments is None else arguments)
        return _end(USAGE_ERROR, f"{error.format_message().rstrip('.')} (see {path} --help)")
    except click.ClickException as error:
        return _end(error.exit_code, error.format_message())
    except NodeError as error:
        return _end(USAGE_ERROR if error.is_usage_error else FAILED, error.message)
    except OSError as error:
        return _end(FAILED, str(error))
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    return code or 0


def _command_path(arguments: Sequence[str]) -> str:
    """Return the command that the arguments name: click's parser does not attach it to its errors."""
    path, command = "foreseal", cast(click.Command, foreseal)
    for argument in arguments:
        subcommand = command.get_command(click.Context(command), argument) if isinstance(command, click.Group) else None
        if subcommand is None:
            break
        path, command = f"{path} {argument}", subcommand
    return path


def _end(code: int, message: str) -> int:
    text = " ".join(message.split())
    click.echo(f"foreseal: {text}", err=True)
    return code
