"""`foreseal verify-receipt`: offline verification of pre-confirmation receipts."""

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, BinaryIO

import click
import orjson

from foreseal.cli.exit_codes import FAILED
from foreseal.cli.options import ParsedValue
from foreseal.errors import PreconfirmationError
from foreseal.preconfirmation import (
    Contradiction,
    Evidence,
    Preconfirmation,
    contradiction,
    verify_preconfirmation,
)
from foreseal.server.settings.kinds import HexBytes

# A receipt has a transaction of at most about 128 KiB and a proof; a much larger file is not a receipt.
MAX_INPUT_SIZE = 16 << 20
SIGNER = ParsedValue("address", HexBytes(20, exact=True).parse)

_SHOWN = {
    Contradiction.TWO_STEPS: "two steps with the same index of the same block",
    Contradiction.BROKEN_ORDER: "a step whose parent is not the previous step",
    Contradiction.TWO_TRANSACTIONS: "two transactions at the same index of the same block",
    Contradiction.TWO_PLACES: "one transaction at two positions",
}


@click.command("verify-receipt")
@click.argument("first", type=click.File("rb"), metavar="FILE")
@click.argument("second", type=click.File("rb"), required=False, metavar="[FILE]")
@click.option("--signer", type=SIGNER, metavar="ADDRESS", help="Required signer of the receipt.")
@click.option("--chain-id", type=click.IntRange(0, 2**64 - 1), metavar="N", help="Required chain id of the receipt.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def receipt_command(
    first: BinaryIO, second: BinaryIO | None, signer: str | None, chain_id: int | None, as_json: bool
) -> None:
    """Check a pre-confirmation receipt offline: FILE, or - for stdin. Exit 1 if it is invalid.

    FILE contains the result of foreseal_preconfirmation, or the whole response. With a second FILE the command checks
    that the two prove equivocation of their signer: exit 0 if they do, 1 if they do not.
    """
    try:
        receipts = [_read(file) for file in (first, second) if file is not None]
        promises = [
            _verified(receipt, which if second else None, signer, chain_id) for which, receipt in enumerate(receipts)
        ]
        evidence = contradiction(*receipts) if second else None
    except PreconfirmationError as error:
        _refuse(error, as_json)
    if second is None:
        _show_promise(promises[0], signer, as_json)
    else:
        _show_two(promises, evidence, as_json)


def _verified(receipt: bytes, which: int | None, signer: str | None, chain_id: int | None) -> Preconfirmation:
    try:
        return verify_preconfirmation(receipt, signer, chain_id=chain_id)
    except PreconfirmationError as error:
        raise PreconfirmationError(error.field, error.reason, which) from None


def _read(file: BinaryIO) -> bytes:
    """Return the receipt in a file, extracted from the JSON-RPC response if there is one.

    Raise PreconfirmationError for a response without a receipt.
    """
    text = file.read(MAX_INPUT_SIZE + 1)
    if len(text) > MAX_INPUT_SIZE:
        raise click.UsageError(f"{file.name} is not a receipt: larger than {MAX_INPUT_SIZE:,} bytes")
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if isinstance(value, dict) and "jsonrpc" in value:
        if isinstance(error := value.get("error"), dict):
            raise PreconfirmationError("receipt", f"the response is an error: {error.get('message')}")
        value = value.get("result")
        text = orjson.dumps(value)
    if value is None:
        raise PreconfirmationError("receipt", "must not be null: the node had no block with the transaction")
    return text


def _refuse(error: PreconfirmationError, as_json: bool) -> None:
    if as_json:
        rejection = {"valid": False, "field": error.field, "reason": error.reason, "which": error.which}
        click.echo(orjson.dumps(rejection))
    else:
        click.echo(f"foreseal: invalid receipt: {error}", err=True)
    sys.exit(FAILED)


def _show_promise(promise: Preconfirmation, signer: str | None, as_json: bool) -> None:
    if as_json:
        click.echo(orjson.dumps({"valid": True, "signer_checked": signer is not None, **asdict(promise)}))
        return
    click.echo("the receipt is valid")
    _print(promise)
    if signer is None:
        click.echo("the signer was not checked: pass the sequencer's address with --signer")


def _show_two(promises: list[Preconfirmation], evidence: Evidence | None, as_json: bool) -> None:
    kind = None if evidence is None else evidence.contradiction
    if as_json:
        shown: dict[str, Any] = {"contradiction": kind, "promises": [asdict(promise) for promise in promises]}
        click.echo(orjson.dumps(shown))
    else:
        for promise in promises:
            _print(promise)
        if evidence is None:
            click.echo(
                "the receipts do not contradict each other"
                if _comparable(promises)
                else "the receipts have different signers or chains"
            )
        else:
            click.echo(f"{evidence.signer} equivocated: it signed {_SHOWN[evidence.contradiction]}")
    if evidence is None:
        sys.exit(FAILED)


def _comparable(promises: list[Preconfirmation]) -> bool:
    first, other = promises
    return (first.signer, first.chain_id) == (other.signer, other.chain_id)


def _print(promise: Preconfirmation) -> None:
    facts = {
        "signer": promise.signer,
        "chain": promise.chain_id,
        "block": promise.number,
        "step": f"{promise.index} {promise.hash}",
        "previous": promise.previous,
        "made": _moment(promise.time),
        "transaction": f"{promise.transaction_index} {promise.transaction_hash}",
    }
    for name, value in facts.items():
        click.echo(f"  {name:<12} {value}")


def _moment(time: int) -> str:
    try:
        return datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        # A sequencer may sign any number; a timestamp out of range must not make its commitment invalid.
        return f"{time} ms since 1970"
