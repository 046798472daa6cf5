"""Options that several commands share, and the types of their values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from foreseal.server.address import parse_address
from foreseal.server.durations import parse_duration
from foreseal.server.settings import Settings, SettingsError, split_limits

Command = TypeVar("Command", bound=Callable[..., Any])


class Duration(click.ParamType[int]):
    """Milliseconds, written 200ms or 2s."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class HexBytes(click.ParamType[str]):
    """Bytes as 0x hex, of one exact or one greatest length."""

    name = "hex"

    def __init__(self, most: int, *, exact: bool = False) -> None:
        self._most = most
        self._exact = exact

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            data = bytes.fromhex(text.removeprefix("0x"))
        except ValueError:
            data = None
        if data is None or not text.startswith("0x") or any(c.isspace() for c in text):
            self.fail(f"{text!r} is not hex: write 0x and two digits for each byte", param, ctx)
        if len(data) > self._most or (self._exact and len(data) != self._most):
            bound = "exactly" if self._exact else "at most"
            self.fail(f"{text!r} has {len(data)} bytes, {bound} {self._most} are allowed", param, ctx)
        return text


class Address(click.ParamType[tuple[str, int]]):
    """Host and port, written HOST:PORT."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        try:
            return parse_address(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def counted(name: str, help: str, *, least: int = 1, unit: str = "N") -> Callable[[Command], Command]:
    """An option that is a whole number, of `unit`, and no smaller than `least`."""
    return click.option(name, type=click.IntRange(min=least), metavar=unit, help=help)


DURATION = Duration()
STORE_MAP = counted("--store-map", "Greatest size of the store: address space.", least=1 << 20, unit="BYTES")
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def stacked(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """One decorator of several options, shown by --help in the order given."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


endpoint_options = stacked(
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option("--port", default=8545, show_default=True, type=click.IntRange(0, 65535), help="Port; 0: any free."),
    click.option("--public", is_flag=True, help="Public endpoint: eth_getBlockReceipts is refused with HTTP 403."),
    click.option(
        "--admin",
        type=Address(),
        metavar="HOST:PORT",
        help="Answer here too, and the methods for administrators here alone; port 0: any free.  [default: nowhere]",
    ),
    click.option(
        "--allowed-host",
        "hosts",
        multiple=True,
        metavar="NAME",
        help="Host name that requests may carry beside loopback ones; repeat it, or * for any.",
    ),
)

production_options = stacked(
    click.option("--block-time", type=DURATION, default="2s", show_default=True, help="Time between sealed blocks."),
    click.option("--step", type=DURATION, default="200ms", show_default=True, help="Time between pre-confirmed steps."),
    click.option("--gas-limit", type=click.IntRange(min=5000), help="Gas limit that produced blocks move towards."),
    counted("--safe-depth", "Blocks by which safe trails latest.  [default: 32]", least=0),
    counted("--finalized-depth", "Blocks by which finalized trails latest.  [default: 64]", least=0),
    click.option(
        "--fee-recipient", type=HexBytes(20, exact=True), metavar="ADDRESS", help="Account that gets the tips."
    ),
    click.option("--extra-data", type=HexBytes(32), metavar="HEX", help="extraData of produced blocks."),
    click.option(
        "--sequencer-key",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Key that signs steps.  [default: sequencer.key in the data directory, made if absent]",
    ),
)

store_options = stacked(
    STORE_MAP,
    counted("--store-proofs", "Newest blocks that proofs are kept for.", least=1024),
    counted("--store-recent", "Stored blocks that stay in memory."),
    counted("--store-backlog", "Transactions sealed and not yet stored before the builder takes less."),
    counted("--store-retention", "Blocks that the journal is kept for after they are stored.", least=0),
)

limit_options = stacked(
    counted("--max-body", "Largest request body.", unit="BYTES"),
    counted("--max-batch", "Most requests in a batch."),
    click.option("--max-depth", type=click.IntRange(1, 250), metavar="N", help="Deepest nesting of JSON."),
    counted("--max-response", "Largest answer.", unit="BYTES"),
    counted("--max-calls", "Most long calls at once."),
    click.option("--max-wait", type=DURATION, help="Longest time that the body of a request may take to come."),
    counted("--max-connections", "Most WebSocket connections."),
    counted("--max-connection-calls", "Most long calls at once for one connection."),
    counted("--max-subscriptions", "Most subscriptions of a connection."),
    counted("--max-outgoing-bytes", "Most bytes that wait to be taken from a connection.", unit="BYTES"),
    counted("--max-outgoing-frames", "Most notifications that wait to be taken from a connection."),
    click.option("--max-idle", type=DURATION, help="Longest time that a client may neither say nor take anything."),
    counted("--max-logs", "Most logs in one eth_getLogs."),
    click.option("--max-log-time", type=DURATION, help="Longest time of one eth_getLogs."),
    counted("--max-filters", "Most filters at once."),
    counted("--max-terms", "Most addresses and topics in one subscription."),
    counted("--max-flashblocks", "Most in a foreseal_getFlashblocks."),
    counted("--max-flashblock-bytes", "Bytes that end one.", unit="BYTES"),
    counted("--max-call-gas", "Most gas of one eth_call.", least=21000),
    click.option("--max-call-time", type=DURATION, help="Longest time of one eth_call or trace."),
    counted("--max-simulate-gas", "Most gas of one eth_simulateV1.", least=21000),
    counted("--max-trace-bytes", "Largest answer of traces.", unit="BYTES"),
    counted("--max-slots", "Most slots in one eth_getProof."),
    counted("--max-pool-transactions", "Most transactions in txpool_content."),
    click.option("--max-sync-time", type=DURATION, help="Longest wait of eth_sendRawTransactionSync."),
)


def settings_from(options: dict[str, Any], **fixed: Any) -> Settings:
    """Settings from the values of the shared options; those that were not given keep their defaults."""
    given = {name: value for name, value in options.items() if value is not None}
    hosts = frozenset(name.lower() for name in given.pop("hosts", ()))
    try:
        return Settings(**split_limits(given), **fixed, hosts=hosts)
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
