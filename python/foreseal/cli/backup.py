"""`foreseal backup` and `foreseal restore`: copies of a data directory."""

from pathlib import Path
from typing import Any

import click
import orjson

from foreseal._core import run_backup, run_restore
from foreseal.cli.db import verified
from foreseal.cli.options import EXISTING_FOLDER, FOLDER, option
from foreseal.cli.output import format_time, print_facts, show_progress


@click.command("backup")
@click.argument("datadir", type=EXISTING_FOLDER)
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--with-key",
    is_flag=True,
    help="Also copy the sequencer key. A holder of the backup can then sign as the sequencer, and a node restored "
    "from it may sign steps that contradict those signed since: protect the backup like the key.",
)
@option("store.map")
def backup_command(datadir: Path, target: Path, with_key: bool, store_map: int | None) -> None:
    """Copy the chain in DATADIR to the new or empty folder TARGET. A node may be running on DATADIR.

    The copy contains every step that was durable when the command started, and may contain later ones. It is written
    to TARGET.partial and renamed once it is complete and on disk. Transactions that are only in the pool are not
    copied.
    """
    with show_progress("copying") as show:
        manifest = orjson.loads(run_backup(str(datadir), str(target), show, with_key, store_map))
    _print(manifest)
    click.echo(f"backup written to {target}")


@click.command("restore")
@click.argument("backup", type=EXISTING_FOLDER)
@click.argument("datadir", type=FOLDER)
@click.option(
    "--verify", is_flag=True, help="Recompute every hash and root in the store, as `foreseal db verify` does."
)
@option("store.map")
def restore_command(backup: Path, datadir: Path, verify: bool, store_map: int | None) -> None:
    """Restore the BACKUP of `foreseal backup` to the new or empty data directory DATADIR.

    Compares every file with its checksum, and verifies that the journal continues where the store ends. A node started
    on DATADIR resumes at the backup's last step. If the backup has no sequencer key, copy the key to DATADIR
    or start the node with --new-sequencer-key.
    """
    with show_progress("restoring") as show:
        manifest = orjson.loads(run_restore(str(backup), str(datadir), show, store_map))
    if verify:
        verified(datadir, store_map)
    _print(manifest)
    click.echo(f"restored {datadir}{' and verified it' if verify else ''}")


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
