"""`foreseal cluster dev`: a whole cluster on loopback in one command."""

import asyncio
import contextlib
import socket
import sys
import tempfile
import time
from pathlib import Path

import click
import orjson

from foreseal._core import derive_accounts
from foreseal.cli.exit_codes import FAILED
from foreseal.cli.genesis import build_genesis
from foreseal.cli.options import FOLDER
from foreseal.cli.output import print_table
from foreseal.cli.port_hint import port_hint
from foreseal.cluster.etcd import EtcdCluster, find_etcd, stored_ports
from foreseal.cluster.folder_lock import locked_folder
from foreseal.cluster.load_balancer import LoadBalancer
from foreseal.cluster.local_cluster import ClusterLayout, LocalCluster, running
from foreseal.cluster.node_process import SequencerRole
from foreseal.etcd_version import OLDEST_ETCD, format_version
from foreseal.server.settings.model import WEI, DevChain, default_value
from foreseal.server.settings.table import TABLE
from foreseal.server.sockets.listening import listen

_CHECK_INTERVAL = 0.2

# Variables for another terminal.
_VARIABLES = """\
export PROXY={proxy}
export JOURNAL={journal}
export LEADER={leader}
export ADMIN={admin}
export ETCD={etcd}
"""

_COMMANDS = """
  Set these addresses and process ids as PROXY, JOURNAL, LEADER, ADMIN and ETCD in another terminal:
    . {variables}
  Read the block that is being built, through the proxy:
    curl -s {proxy} -H 'Content-Type: application/json' \\
      -d '{{"jsonrpc":"2.0","id":1,"method":"foreseal_status","params":[]}}'
  Kill the leader, and watch the standby continue the same block at the next step:
    kill -9 {leader}
  Pause the leader for longer than the silence that triggers a takeover:
    kill -STOP {leader}; sleep 3; kill -CONT {leader}
  Lose one etcd member; a quorum remains:
    kill -9 {etcd}
  Hand over without a failure:
    foreseal handover --rpc {admin}
  Show members, epochs, lags and etcd:
    foreseal cluster status --journal {journal}

  Press Ctrl-C to stop."""


@click.command("dev")
@click.option("--datadir", type=FOLDER, help="Folder of the cluster.  [default: a temporary folder]")
@click.option(
    "--etcd", "etcd_program", metavar="PROGRAM", help="Program of the etcd members.  [default: etcd on the PATH]"
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8545,
    show_default=True,
    envvar="FORESEAL_PORT",
    help="Port of the proxy; 0 for any.",
)
@click.option("--replicas", type=click.IntRange(0, 8), default=2, show_default=True, help="Number of replicas.")
def dev_command(datadir: Path | None, etcd_program: str | None, port: int, replicas: int) -> int:
    """Start three etcd members, a leader, a standby, replicas and a proxy on loopback.

    The proxy prefers ready processes. It is a toy: a real cluster uses nginx or HAProxy. The
    accounts are those of `foreseal dev`; their keys are public. Ctrl-C stops all processes.
    """
    program = find_etcd(etcd_program)
    if program is None:
        wanted = f"{etcd_program} is not a program" if etcd_program else "etcd is not on the PATH"
        raise click.UsageError(f"{wanted}: install etcd {format_version(OLDEST_ETCD)} or newer, or name it with --etcd")
    with contextlib.ExitStack() as stack:
        folder = datadir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-cluster-")))
        folder = folder.absolute()
        layout = ClusterLayout((sys.executable, "-m", "foreseal"), replicas=replicas)
        listening = _claim(stack, folder, port)
        cluster = LocalCluster(folder, EtcdCluster(folder, program, stored_ports(folder)), _genesis(), layout)
        click.echo("foreseal: starting the cluster")
        try:
            with running(cluster, lambda process: click.echo(f"foreseal: stopped {process.name}")):
                return _serve_until_interrupted(cluster, listening)
        except KeyboardInterrupt:
            return 0


def _claim(stack: contextlib.ExitStack, folder: Path, port: int) -> socket.socket:
    """Lock the folder and listen on the proxy's port, so that no process starts if one of them is in use."""
    is_new = not folder.exists()
    # A second start in a folder reports the folder; a new folder is created once the port is free.
    if not is_new:
        stack.enter_context(locked_folder(folder))
    with port_hint(port):
        listening = stack.enter_context(listen("127.0.0.1", port))
    if is_new:
        stack.enter_context(locked_folder(folder))
    return listening


def _serve_until_interrupted(cluster: LocalCluster, listening: socket.socket) -> int:
    try:
        return asyncio.run(_serve(cluster, listening))
    except KeyboardInterrupt:
        click.echo("\nforeseal: stopping the cluster")
        return 0


def _genesis() -> bytes:
    """Return the genesis of a new chain: its accounts, and the present time, at the begin of a slot."""
    dev = DevChain()
    accounts = derive_accounts(dev.mnemonic, dev.accounts)
    genesis = build_genesis(dev.chain_id, [(address, dev.balance * WEI) for address, _ in accounts])
    block_seconds = default_value(TABLE["node.block_time"]) // 1000
    genesis["timestamp"] = hex(int(time.time()) // block_seconds * block_seconds)
    return orjson.dumps(genesis)


async def _serve(cluster: LocalCluster, listening: socket.socket) -> int:
    """Run the proxy and report processes that end, until interrupted. Return 1 if every node process has ended."""
    balancer = LoadBalancer([node.port for node in cluster.nodes])
    await balancer.start(listening)
    try:
        _show(cluster, balancer.port)
        running_names = {process.name for process in cluster.processes}
        while any(node.is_running for node in cluster.nodes):
            await asyncio.sleep(_CHECK_INTERVAL)
            for process in cluster.processes:
                if process.name in running_names and not process.is_running:
                    running_names.remove(process.name)
                    click.echo(f"foreseal: {process.name} ended with exit code {process.exit_code}: {process.log}")
    finally:
        await balancer.stop()
    click.echo("foreseal: every node process has ended", err=True)
    return FAILED


def _show(cluster: LocalCluster, port: int) -> None:
    """Print the addresses of all processes, and commands to try."""
    proxy = f"http://127.0.0.1:{port}"
    rows = [("process", "address", "pid", "log"), ("proxy", proxy, "-", "-")]
    rows += [(node.name, node.url, str(node.pid), str(node.log)) for node in cluster.nodes]
    rows += [(each.name, f"http://{each.endpoint}", str(each.pid), str(each.log)) for each in cluster.etcd.members]
    click.echo()
    print_table(rows, indent="  ")
    leader = cluster.sequencers[0]
    assert isinstance(leader.role, SequencerRole), "the first process is a sequencer"
    facts = {
        "proxy": proxy,
        "journal": cluster.etcd.journal_url(),
        "leader": leader.pid,
        "admin": f"http://127.0.0.1:{leader.role.admin}",
        "etcd": cluster.etcd.members[0].pid,
    }
    variables = cluster.folder / "variables.sh"
    variables.write_text(_VARIABLES.format(**facts))
    click.echo(f"\n  Journal  {facts['journal']}")
    click.echo(_COMMANDS.format(**facts, variables=variables))
