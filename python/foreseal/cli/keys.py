"""`foreseal keys`: API keys of the node on a data directory, running or stopped."""

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import orjson

from foreseal.cli.options import CONFIG, Decorated, ParsedValue, gathered, option
from foreseal.cli.output import format_time, print_table
from foreseal.rpc.rate import MAX_CALLS, UNLIMITED, Rate, parse_rate, resolve_burst
from foreseal.server.auth import keys
from foreseal.server.auth.key_file import update_keys
from foreseal.server.auth.keys import ApiKey, KeyFileError
from foreseal.server.settings.model import DEDICATED, PUBLIC

LONGEST_NAME = 64

_UNITS = {"h": 3600, "d": 86_400, "w": 604_800}
_FORM = re.compile(r"([0-9]{1,5})([hdw])")
_HEADS = ("id", "name", "tier", "rate", "created", "expires", "state")


def parse_expiry(text: str, now: float) -> int:
    """Return the expiry in Unix seconds of 12h, 30d or 8w from now, or of a date or a time. Raise ValueError."""
    match = _FORM.fullmatch(text.strip())
    if match is not None:
        return int(now) + int(match[1]) * _UNITS[match[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not a time: write 30d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z") from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def _folder_options(command: Decorated) -> Decorated:
    return CONFIG(option("node.datadir")(command))


@click.group("keys")
def keys_group() -> None:
    """Create, list and revoke API keys. Nodes that run on the data directory apply changes within a second."""


@keys_group.command("create")
@click.argument("name")
@_folder_options
@click.option(
    "--tier", type=click.Choice([DEDICATED, PUBLIC]), default=DEDICATED, show_default=True, help="Tier of the key."
)
@click.option(
    "--rate",
    type=ParsedValue("RATE", parse_rate),
    help="Rate limit of the key, such as 100/s.  [default: that of the tier]",
)
@click.option("--burst", type=click.IntRange(1, MAX_CALLS), help="Burst of calls.  [default: two seconds' worth]")
@click.option("--expires", metavar="TIME", help="Expiry: 30d, 12h or a date such as 2027-01-31.  [default: never]")
def create_command(
    name: str,
    config: Path | None,
    datadir: Path | None,
    tier: str,
    rate: Rate | None,
    burst: int | None,
    expires: str | None,
) -> None:
    """Create an API key called NAME and print it. Only its hash is stored: it cannot be printed again."""
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise click.BadParameter(f"NAME must have 1 to {LONGEST_NAME} printable characters")
    if burst is not None and not (rate and rate.calls):
        raise click.UsageError("--burst requires --rate")
    try:
        resolve_burst(rate or UNLIMITED, burst)
    except ValueError as error:
        raise click.UsageError(f"--burst: {error}") from None
    now = time.time()
    with _explained(), update_keys(_folder(config, datadir)) as api_keys:
        if any(key.name == name for key in api_keys.values() if key.state(now) == "active"):
            raise click.UsageError(f"a key named {name} exists: revoke it first, or choose another name")
        end = _expiry(expires, now)
        key, text = keys.create_key(name, int(now), tier=tier, rate=rate, burst=burst, expires=end)
        api_keys[key.id] = key
    click.echo(f"foreseal: created key {key.id} ({name}); store it now, it is not shown again", err=True)
    click.echo(text)


@keys_group.command("list")
@_folder_options
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_command(config: Path | None, datadir: Path | None, as_json: bool) -> None:
    """Show all keys without their secrets, including revoked and expired ones."""
    now = time.time()
    with _explained():
        api_keys = keys.read_keys(_folder(config, datadir) / keys.KEY_FILE)
    if as_json:
        click.echo(orjson.dumps([_entry(key, now) for key in api_keys.values()], option=orjson.OPT_INDENT_2))
        return
    print_table([_HEADS, *(_row(key, now) for key in api_keys.values())])


@keys_group.command("revoke")
@click.argument("key")
@_folder_options
def revoke_command(key: str, config: Path | None, datadir: Path | None) -> None:
    """Revoke the KEY with this ID or name: within a second its calls are rejected and its WebSockets closed."""
    now = time.time()
    with _explained(), update_keys(_folder(config, datadir)) as api_keys:
        matches = [
            api_key for api_key in api_keys.values() if api_key.revoked is None and key in (api_key.id, api_key.name)
        ]
        if not matches:
            raise click.UsageError(f"no active key has the id or name {key}: see `foreseal keys list`")
        if len(matches) > 1:
            named = " and ".join(api_key.id for api_key in matches)
            raise click.UsageError(f"more than one key is named {key}: pass the id, {named}")
        (revoked,) = matches
        api_keys[revoked.id] = replace(revoked, revoked=int(now))
    click.echo(f"foreseal: revoked key {revoked.id} ({revoked.name})", err=True)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """End the command with a message if the file of keys is invalid."""
    try:
        yield
    except KeyFileError as error:
        raise click.ClickException(str(error)) from None


def _folder(config: Path | None, datadir: Path | None) -> Path:
    """Return the data directory, from all sources of settings. Raise a usage error if there is none."""
    folder: Path | None = gathered("run", config, {"datadir": datadir}).values["node.datadir"].value
    if folder is None:
        raise click.UsageError("Missing option '--datadir': the data directory of the chain")
    if not folder.is_dir():
        raise click.UsageError(f"--datadir: {folder} is not a folder")
    return folder


def _expiry(text: str | None, now: float) -> int | None:
    if text is None:
        return None
    try:
        end = parse_expiry(text, now)
    except ValueError as error:
        raise click.UsageError(f"--expires: {error}") from None
    if end <= now:
        raise click.UsageError(f"--expires: {text} is in the past")
    return end


def _rate(key: ApiKey) -> str:
    if key.rate is None:
        return "tier default"
    return f"{key.rate}, burst {key.burst or key.rate.burst}" if key.rate.calls else "unlimited"


def _row(key: ApiKey, now: float) -> tuple[str, ...]:
    expires = "never" if key.expires is None else format_time(key.expires)
    return key.id, key.name, key.tier, _rate(key), format_time(key.created), expires, key.state(now)


def _entry(key: ApiKey, now: float) -> dict[str, Any]:
    rate = None if key.rate is None else str(key.rate)
    fields = {name: getattr(key, name) for name in ApiKey.__slots__ if name != "hash"}
    return fields | {"rate": rate, "state": key.state(now)}
