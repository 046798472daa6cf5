"""`foreseal pay demo --shop`: chain, merchant service and a small shop in one command."""

import asyncio
import contextlib
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click
import httpx
import uvloop
from eth_account import Account

from foreseal._core import derive_accounts
from foreseal.cli.exit_codes import FAILED
from foreseal.cli.port_hint import port_hint
from foreseal.cluster.launched_process import LaunchedProcess, wait_until
from foreseal.payments.contracts.development import MIN_ACCOUNTS
from foreseal.payments.demo.shop import DemoShop, ShopAddresses, prepare
from foreseal.payments.demo.shop.setup import CONFIGURATION
from foreseal.ports import next_free_port
from foreseal.server.asgi.granian import GranianListener
from foreseal.server.settings import DevChain
from foreseal.server.sockets.listening import bind, listener_url

_HOST = "127.0.0.1"
_MERCHANT = 1  # account of the development chain that receives the payments
_START_TIMEOUT = 60.0
_CHECK_INTERVAL = 0.2

_PROGRAM = (sys.executable, "-m", "foreseal")


def serve_shop(port: int, datadir: Path | None) -> int:
    """Run the demo until SIGINT or SIGTERM, then stop shop, service and chain. Return the exit code."""
    # Both signals stop the demo while it starts; the event loop handles them later.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.ExitStack() as stack, port_hint(port):
            folder = datadir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-shop-")))
            return _run(folder.absolute(), port, stack)
    except KeyboardInterrupt:
        return 0


def _run(folder: Path, port: int, stack: contextlib.ExitStack) -> int:
    reserved = stack.enter_context(bind(_HOST, port))
    addresses = ShopAddresses(
        listener_url(reserved, None), f"http://{_HOST}:{next_free_port()}", f"http://{_HOST}:{next_free_port()}"
    )
    click.echo("foreseal: starting the demo shop")
    node = _node(folder, addresses.node)
    stack.enter_context(_running(node, addresses.explorer))
    chain = DevChain()
    _, key = derive_accounts(chain.mnemonic, MIN_ACCOUNTS)[_MERCHANT]
    settings, admin_key = prepare(folder, addresses, Account.from_key(key), chain.chain_id)
    service = _service(folder)
    stack.enter_context(_running(service, f"{addresses.service}/v1/openapi.json"))
    shop = DemoShop(settings)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(
            _serve(
                shop,
                GranianListener(shop.app, reserved),
                [service, node],
                lambda: _show(addresses, admin_key, folder),
            )
        )


def _node(folder: Path, url: str) -> LaunchedProcess:
    port = url.rpartition(":")[2]
    command = (*_PROGRAM, "dev", "--payments", "--port", port, "--datadir", str(folder / "chain"))
    return LaunchedProcess("chain", command, folder / "chain.log")


def _service(folder: Path) -> LaunchedProcess:
    command = (*_PROGRAM, "pay", "serve", "--config", str(folder / CONFIGURATION))
    return LaunchedProcess("service", command, folder / "service.log")


@contextlib.contextmanager
def _running(process: LaunchedProcess, url: str) -> Iterator[None]:
    """Run a process for the context, which begins once `url` answers. Raises NodeError."""
    process.start()
    try:
        wait_until(lambda: _answers(url), [process], _START_TIMEOUT)
        yield
    finally:
        process.stop()
        click.echo(f"foreseal: stopped {process.name}")


def _answers(url: str) -> bool:
    """Return True if a GET request gets a page."""
    try:
        return httpx.get(url, trust_env=False, timeout=5.0).is_success
    except httpx.HTTPError:
        return False


async def _serve(
    shop: DemoShop, listener: GranianListener, processes: Sequence[LaunchedProcess], show: Callable[[], None]
) -> int:
    """Serve the shop until a signal, or until one of the processes ends: then return a failure."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await shop.load()
        if not await listener.start():
            return FAILED
        await asyncio.to_thread(show)
        while not stop.is_set():
            for process in processes:
                process.check_running()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _CHECK_INTERVAL)
        click.echo("\nforeseal: stopping the demo shop")
        return 0
    finally:
        await listener.stop()
        await shop.close()
        click.echo("foreseal: stopped shop")


def _show(addresses: ShopAddresses, admin_key: str, folder: Path) -> None:
    """Print the links."""
    dashboard = f"{addresses.service}/dashboard"
    rows = [
        ("Shop", addresses.shop),
        ("Merchant", f"{addresses.shop}/merchant"),
        *([("Dashboard", dashboard)] if _answers(dashboard) else []),
        ("Explorer", addresses.explorer),
        ("Service API", f"{addresses.service}/docs"),
        ("Node", addresses.node),
    ]
    click.echo(f"\nDemo shop at {addresses.shop}\n")
    for name, url in rows:
        click.echo(f"  {name:<12} {url}")
    click.echo(f"  {'API key':<12} {admin_key} (role admin)")
    click.echo(f"  {'Files':<12} {folder}")
    click.echo("\n  Buy something. Without a wallet, choose the pretend wallet of the checkout: it has a million USDC.")
    click.echo("  Press Ctrl-C to stop.")
