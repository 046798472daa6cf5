"""`foreseal cluster status` and `foreseal cluster forget`."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import orjson

from foreseal._core import cluster_forget, cluster_members
from foreseal.cli.exit_codes import FAILED
from foreseal.cli.journal_engine_options import chain_options, credential_options, target_json
from foreseal.cli.journal_engine_rows import ENGINE_TEXTS, engine_rows, finding_text
from foreseal.cli.options import FILE
from foreseal.cli.output import format_time, print_table, printable
from foreseal.cluster.members import ClusterMember, gather_members, newest_takeover, wait_since
from foreseal.cluster.rpc_endpoint import RpcEndpoint
from foreseal.server.settings import TABLE

# An owner that writes nothing for this time is replaced by a standby, if there is one.
_SILENCE = 1.2
_MEMBER_HEADINGS = ("member", "role", "version", "rpc", "feed", "epoch", "head", "append", "lag", "answers in")
_MEMBER_TEXTS = 5


@click.command("status")
@click.option("--journal", required=True, metavar="URL", help=TABLE["cluster.journal"].help)
@chain_options
@credential_options
@click.option("--rpc-ca", type=FILE, help="CA of the RPC servers of the members.  [default: those of the system]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status_command(
    journal: str, genesis: Path | None, chain_id: int | None, rpc_ca: Path | None, as_json: bool, **credentials: Any
) -> int:
    """Print the members of the cluster, its owner and head, and the members of etcd.

    Owner, head and the entries of leader and standbys come from etcd; each member is also queried at its RPC address.
    Exit 1 if etcd has no majority, or no process writes the chain.
    """
    target = target_json(journal, credentials, genesis=genesis, chain_id=chain_id)
    begun = time.monotonic()
    reading = orjson.loads(cluster_members(target))
    chain = reading["chain"]
    members: list[ClusterMember] = []
    if chain is not None:
        members = gather_members(chain["members"], lambda url: RpcEndpoint.peer(url, rpc_ca), time.time())
        wait_since(begun, _SILENCE)
        # The second reading is newer, and shows if the owner has written since.
        again = orjson.loads(cluster_members(target))
        if again["chain"] is not None:
            # A reading that etcd has not answered in time has no list of members.
            again["engine"]["members"] = again["engine"]["members"] or reading["engine"]["members"]
            reading["engine"], reading["chain"] = again["engine"], again["chain"]
        reading["error"] = again["error"]
    faults = _faults(reading, chain)
    if as_json:
        takeover = newest_takeover(members)
        reading["members"] = [member.to_json() for member in members]
        reading["lastTakeover"] = None if takeover is None else {"name": takeover[0], **takeover[1]}
        reading["faults"] = faults
        click.echo(orjson.dumps(reading))
    else:
        _print(reading, members, faults)
    return FAILED if faults else 0


@click.command("forget")
@click.argument("name")
@click.option("--journal", required=True, metavar="URL", help=TABLE["cluster.journal"].help)
@chain_options
@credential_options
def forget_command(name: str, journal: str, genesis: Path | None, chain_id: int | None, **credentials: Any) -> int:
    """Remove the entry of the member NAME, which will not return, from etcd.

    etcd retains the records that a member lacks, up to 512 MB. A member that still runs registers again within
    seconds.
    """
    if cluster_forget(target_json(journal, credentials, genesis=genesis, chain_id=chain_id), name):
        click.echo(f"removed the entry of {name}")
        return 0
    click.echo(f"foreseal: the cluster has no member {name}: `foreseal cluster status` lists them", err=True)
    return FAILED


def _faults(reading: Mapping[str, Any], before: Mapping[str, Any] | None) -> list[str]:
    """Return the reasons why no step can become visible."""
    if reading["error"] is not None:
        return ["etcd has no majority: no step becomes visible until more of its members answer"]
    chain = reading["chain"]
    owner = chain["owner"]
    if owner is None:
        return ["the chain has no owner: start a node that is not a standby"]
    if owner["released"]:
        return [f"{owner['name']} has released the chain, and no other member has taken over"]
    if before is not None and before["written"] == chain["written"]:
        return [f"the owner {owner['name']} has not written for {_SILENCE:.0f} s, and no standby has taken over"]
    return []


def _print(reading: Mapping[str, Any], members: Sequence[ClusterMember], faults: Sequence[str]) -> None:
    chain = reading["chain"]
    if chain is not None:
        click.echo(f"chain {chain['chainId']}, genesis {chain['genesis']}\n")
        print_table(member_rows(members, chain["owner"]), _MEMBER_TEXTS, indent="  ")
        click.echo()
        _print_chain(chain, members)
        click.echo()
    print_table(engine_rows(reading["engine"]), ENGINE_TEXTS, indent="  ")
    for finding in reading["engine"]["findings"]:
        click.echo(f"warning: {finding_text(finding)}")
    for fault in faults:
        click.echo(f"foreseal: {printable(fault)}", err=True)


def member_rows(members: Sequence[ClusterMember], owner: Mapping[str, Any] | None) -> list[Sequence[str]]:
    """Return the headings and one row for each member, the leader first and those that do not answer last."""
    rows: list[Sequence[str]] = [_MEMBER_HEADINGS]
    order = {"leader": 0, "standby": 1}
    for member in sorted(members, key=lambda each: (each.error is not None, order.get(each.role, 2), each.name)):
        head = None if member.block is None else f"{member.block}.{member.index or 0}"
        is_former = member.error is not None and member.role == "leader" and member.name != (owner or {}).get("name")
        role = "former leader" if is_former else member.role
        texts = (member.name, role, member.version, member.rpc, member.feed)
        numbers = (member.epoch, head, member.sequence, member.lag, _answer(member))
        rows.append(["-" if value in (None, "") else str(value) for value in (*texts, *numbers)])
    return rows


def _answer(member: ClusterMember) -> str:
    if member.latency_ms is not None:
        return f"{member.latency_ms:.1f} ms"
    return "stale" if member.is_stale else "unreachable"


def _print_chain(chain: Mapping[str, Any], members: Sequence[ClusterMember]) -> None:
    owner, head = chain["owner"], chain["head"]
    lines = [f"owner          {'none' if owner is None else '{name}, epoch {epoch}'.format(**owner)}"]
    where = "none" if head is None else "block {block}.{index}, append {sequence}, epoch {epoch}".format(**head)
    lines.append(f"quorum head    {where}")
    takeover = newest_takeover(members)
    if takeover is not None:
        name, facts = takeover
        lines.append(
            f"last takeover  {name}, {_time(facts['at'])}: {facts['reason']}, epoch {facts['epoch']}, "
            f"fence after {facts['fenceMs']} ms, ready after {facts['readyMs']} ms"
        )
    lines += [
        f"stale          {member.name}: `foreseal cluster forget {member.name}` removes its entry"
        for member in members
        if member.is_stale
    ]
    for line in lines:
        click.echo(printable(line))


def _time(milliseconds: int) -> str:
    """Return a time that another machine reported, in readable form."""
    try:
        return format_time(milliseconds / 1000)
    except (ValueError, OverflowError, OSError):
        return f"{milliseconds} ms after 1970"
