"""`foreseal handover`: a planned change of the leader."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from foreseal.cli.exit_codes import FAILED
from foreseal.cli.options import FILE, ParsedValue
from foreseal.cli.output import printable
from foreseal.cluster.members import reported_followers
from foreseal.cluster.peer_values import peer_integer, peer_object, peer_text
from foreseal.cluster.rpc_endpoint import RpcEndpoint
from foreseal.cluster.status_queries import query_statuses

_TIMEOUT = 10.0
_QUERY_TIMEOUT = 2.0
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
    addresses = {each["name"]: each["rpc"] for each in reported_followers(before)}
    begun = time.monotonic()
    handover = peer_object(leader.call("foreseal_handover").result)
    successor = peer_text(handover.get("successor"))
    if handover.get("confirmed") is False:
        click.echo("etcd has not confirmed the release: a standby takes over when the leader has been silent for long")
    elif successor:
        click.echo(f"handed over to {printable(successor)}")
    else:
        click.echo("released the chain: no standby is connected, so any member may take over")
    epoch = peer_integer(before.get("epoch")) or 0
    while time.monotonic() - begun < _TIMEOUT:
        status = _newer_status(leader, addresses.get(successor), rpc_ca, epoch)
        if status is not None:
            elapsed = (time.monotonic() - begun) * 1000
            name, epoch = printable(peer_text(status.get("owner"))), status["epoch"]
            click.echo(f"{name} writes the chain in epoch {epoch}, after {elapsed:.0f} ms")
            return 0
        time.sleep(_POLL_INTERVAL)
    click.echo(f"foreseal: no member has taken over after {_TIMEOUT:.0f} s: see `foreseal cluster status`", err=True)
    return FAILED


def _newer_status(leader: RpcEndpoint, successor: str | None, ca: Path | None, epoch: int) -> Mapping[str, Any] | None:
    """Return the status of a process that knows of a later owner than that of `epoch`: first of the owner itself.

    `successor` is the address that the standby has reported, which may be unusable.
    """
    urls = ([successor] if successor else []) + [leader.url]
    answers = query_statuses(
        urls, lambda url: leader if url == leader.url else RpcEndpoint.peer(url, ca), _QUERY_TIMEOUT
    )
    for url, answer in zip(urls, answers, strict=True):
        if isinstance(answer, str):
            continue
        cluster = peer_object(answer.result.get("cluster"))
        is_later = (peer_integer(cluster.get("epoch")) or 0) > epoch
        if is_later and (cluster.get("role") == "leader" or url == leader.url):
            return cluster
    return None


def _cluster(endpoint: RpcEndpoint) -> Mapping[str, Any]:
    return peer_object(peer_object(endpoint.call("foreseal_status").result).get("cluster"))
