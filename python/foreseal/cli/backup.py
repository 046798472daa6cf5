"""`foreseal backup` and `foreseal restore`: copies of a data directory."""

from pathlib import Path
from typing import Any

import click
import orjson

from foreseal._core import run_backup, run_restore
from foreseal.cli.db import verified
from foreseal.cli.options import DATADIR, EXISTING_FOLDER, option
from foreseal.cli.output import format_time, print_facts, show_progress


@click.command("backup")
@click.argument("datadir", type=DATADIR)
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--with-key",
    is_flag=True,
    help="Copy the key that signs steps as well. Whoever has it can sign in the sequencer's name, and a node that goes "
    "on from this backup with it may sign what contradicts the steps made since: keep such a backup like the key.",
)
@option("store.map")
def backup_command(datadir: Path, target: Path, with_key: bool, store_map: int | None) -> None:
    """Copy the chain in DATADIR to the folder TARGET, which is new or empty. A node may run on DATADIR meanwhile.

    The copy has every step that was durable when the command began, and later steps as far as the copy reached them. It
    is written as TARGET.partial and renamed once it is complete and on disk. Transactions that are only in the pool are
    not copied.
    """
    with show_progress("copying") as show:
        manifest = orjson.loads(run_backup(str(datadir), str(target), show, with_key, store_map))
    _print(manifest)
    click.echo(f"the backup is in {target}")


@click.command("restore")
@click.argument("backup", type=DATADIR)
@click.argument("datadir", type=EXISTING_FOLDER)
@click.option("--verify", is_flag=True, help="Compute again every hash and root in the store, as `foreseal db verify`.")
@option("store.map")
def restore_command(backup: Path, datadir: Path, verify: bool, store_map: int | None) -> None:
    """Restore the BACKUP of `foreseal backup` to the data directory DATADIR, which is new or empty.

    Compares every file with its checksum, and verifies that the journal continues where the store ends. A node started
    on DATADIR resumes at the backup's last step. If the backup has no signer key, put the key there, or start with
    --new-sequencer-key.
    """
    with show_progress("restoring") as show:
        manifest = orjson.loads(run_restore(str(backup), str(datadir), show, store_map))
    if verify:
        verified(datadir, store_map)
    _print(manifest)
    click.echo(f"{datadir} is restored{' and verified' if verify else ''}")


def _print(manifest: dict[str, Any]) -> None:
    files = manifest.pop("files")
    appends = f"{manifest.pop('journal_first'):,} to {manifest.pop('journal_next') - 1:,}"
    print_facts(
        {
            "made": format_time(manifest["time"] / 1000),
            "chain id": manifest["chain_id"],
            "genesis": manifest["genesis"],
            "stored head": manifest["head"],
            "journal appends": appends,
            "files": len(files),
            "bytes": sum(file["bytes"] for file in files),
            "sequencer key": "yes" if any(file["path"] == "sequencer.key" for file in files) else "no",
        }
    )
