"""`foreseal handover`: a planned change of the leader."""

import time
from pathlib import Path
from typing import Any

import click

from foreseal.cli.exit_codes import FAILED
from foreseal.cli.options import FILE, ParsedValue
from foreseal.cluster.rpc_endpoint import RpcEndpoint
from foreseal.errors import NodeError

_TIMEOUT = 10.0
_POLL_INTERVAL = 0.02


def _url(text: str) -> str:
    """Return the URL of an endpoint. Raises ValueError if it is invalid."""
    RpcEndpoint(text)
    return text


@click.command("handover")
@click.option(
    "--rpc",
    "url",
    required=True,
    type=ParsedValue("URL", _url),
    metavar="URL",
    help="Admin listener of the leader: http://HOST:PORT or unix:PATH.",
)
@click.option("--rpc-ca", type=FILE, help="CA of the RPC servers.  [default: those of the system]")
def handover_command(url: str, rpc_ca: Path | None) -> int:
    """Hand the chain over to the standby that is most up to date, and wait until it produces.

    The leader stops producing, releases the chain, and follows the new owner from then on. The new owner continues
    the same block. Exit 1 if no member has taken over after 10 seconds.
    """
    leader = RpcEndpoint(url, rpc_ca)
    before = _cluster(leader)
    if before.get("role") != "leader":
        raise click.UsageError(f"{url} is not the leader but {before.get('role', 'a node without a cluster')}")
    addresses = {each["name"]: each["rpc"] for each in before.get("followers", ())}
    begun = time.monotonic()
    successor = leader.call("foreseal_handover").result["successor"]
    if successor is None:
        click.echo("released the chain: no standby is connected, so any member may take over")
    else:
        click.echo(f"handed over to {successor}")
    candidates = [RpcEndpoint(addresses[successor], rpc_ca)] if addresses.get(successor) else []
    while time.monotonic() - begun < _TIMEOUT:
        owner = _new_owner(leader, candidates, before["epoch"])
        if owner is not None:
            elapsed = (time.monotonic() - begun) * 1000
            click.echo(f"{owner['owner']} writes the chain in epoch {owner['epoch']}, after {elapsed:.0f} ms")
            return 0
        time.sleep(_POLL_INTERVAL)
    click.echo(f"foreseal: no member has taken over after {_TIMEOUT:.0f} s: see `foreseal cluster status`", err=True)
    return FAILED


def _new_owner(leader: RpcEndpoint, candidates: list[RpcEndpoint], epoch: int) -> dict[str, Any] | None:
    """Return the status of a process that knows of a later owner than that of `epoch`: first of the owner itself."""
    for endpoint in (*candidates, leader):
        try:
            cluster = _cluster(endpoint)
        except NodeError:
            continue
        if cluster.get("epoch", 0) > epoch and (cluster.get("role") == "leader" or endpoint is leader):
            return cluster
    return None


def _cluster(endpoint: RpcEndpoint) -> dict[str, Any]:
    cluster = endpoint.call("foreseal_status").result.get("cluster")
    return cluster if isinstance(cluster, dict) else {}
