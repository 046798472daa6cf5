"""`foreseal top`: a terminal view of a node and of a merchant service."""

import time
from pathlib import Path

import click
from rich.console import Console

from foreseal.cli.exit_codes import FAILED
from foreseal.cli.options import FILE, ParsedValue
from foreseal.server.settings.durations import parse_duration
from foreseal.top.frame import FrameModel
from foreseal.top.node_sample import NodeSampler
from foreseal.top.sampling import ModelBuilder, TopSamplers
from foreseal.top.screen import TopScreen, print_frame
from foreseal.top.service_sample import ServiceSampler
from foreseal.top.source import HttpSource

_DEFAULT_URL = "http://127.0.0.1:8545"
_MIN_INTERVAL, _MAX_INTERVAL = 200, 60_000
# Seconds between the two readings of one printed frame, at most.
_ONCE_SECONDS = 1.0


def _interval(text: str) -> int:
    ms = parse_duration(text)
    if not _MIN_INTERVAL <= ms <= _MAX_INTERVAL:
        raise ValueError(f"interval must be at least 200ms and at most 60s, got {text!r}")
    return ms


@click.command("top")
@click.argument("url", metavar="[URL]", default=_DEFAULT_URL)
@click.option("--key-file", type=FILE, help="File with an API key of the node.")
@click.option(
    "--pay", metavar="URL", help="Merchant service to show as well; with several merchants, URL/NAME for one."
)
@click.option("--pay-key-file", type=FILE, help="File with an API key of the service, to count orders by state.")
@click.option("--ca", type=FILE, help="CA of https servers.  [default: those of the system]")
@click.option(
    "--interval",
    type=ParsedValue("DURATION", _interval),
    metavar="DURATION",
    default="1s",
    help="Time between readings, 200ms to 60s.  [default: 1s]",
)
@click.option("--once", is_flag=True, help="Print one frame and exit; the default if stdout is not a terminal.")
def top_command(
    url: str,
    key_file: Path | None,
    pay: str | None,
    pay_key_file: Path | None,
    ca: Path | None,
    interval: int,
    once: bool,
) -> int:
    """Show a node in the terminal: steps of the open block, pool, lanes, calls, store, followers, payments.

    URL is http://HOST:PORT, https://HOST:PORT or unix:PATH, by default http://127.0.0.1:8545. All figures come from
    public interfaces: JSON-RPC, /metrics and /healthz. An unreachable server is tried again.

    \b
    q  quit
    p  pause
    s  order methods by time, or by calls

    Exit 1 if one frame is printed and a server is unreachable.
    """
    if pay is None and pay_key_file is not None:
        raise click.UsageError("--pay-key-file: requires --pay")
    node = NodeSampler(_source("URL", url, key_file, ca), time.monotonic)
    service = None
    if pay is not None:
        source = _source("--pay", pay, pay_key_file, ca)
        service = ServiceSampler(source, time.monotonic, has_key=pay_key_file is not None)
    builder, seconds, console = ModelBuilder(TopSamplers(node, service)), interval / 1000, Console(highlight=False)
    if once or not console.is_terminal:
        return _print_once(builder, min(seconds, _ONCE_SECONDS), console)
    TopScreen(builder, seconds, console).run()
    return 0


def _print_once(builder: ModelBuilder, seconds: float, console: Console) -> int:
    """Print a frame of two readings, so that it has rates. Return the exit code."""
    model = builder.next()
    if not _is_unreachable(model):
        time.sleep(seconds)
        model = builder.next()
    print_frame(model, console)
    return FAILED if _is_unreachable(model) else 0


def _is_unreachable(model: FrameModel) -> bool:
    return bool(model.node.sample.fault or (model.service is not None and model.service.sample.fault))


def _source(name: str, url: str, key_file: Path | None, ca: Path | None) -> HttpSource:
    headers = {} if key_file is None else {"Authorization": f"Bearer {_key(key_file)}"}
    try:
        return HttpSource(url, headers, ca)
    except ValueError as error:
        raise click.UsageError(f"{name}: {error}") from None


def _key(path: Path) -> str:
    key = path.read_text(errors="replace").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise click.UsageError(f"{path} must contain one API key")
    return key
