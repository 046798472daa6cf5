"""A rolling upgrade of a whole cluster, with its result in a file: `make cluster-upgrade`."""

import signal
import sys
import tempfile
from pathlib import Path

from campaign_cli import conclude, options, show
from cluster.recording import write
from cluster_upgrade.rolling_upgrade import RollingUpgrade
from foreseal.cluster.etcd import find_etcd
from live.proxies import find_program


def main() -> int:
    """Run it and return 0 if no client noticed more than the bounds allow."""
    parser = options("cluster_upgrade")
    parser.add_argument("--etcd", help="program of the etcd members; default: etcd on the PATH")
    parser.add_argument("--program", default=f"{sys.executable} -m foreseal", help="the command foreseal")
    given = parser.parse_args()
    etcd, haproxy = find_etcd(given.etcd), find_program("haproxy")
    if etcd is None or haproxy is None:
        parser.error("etcd and haproxy must be installed: name the program of etcd with --etcd")
    folder = Path(tempfile.mkdtemp(prefix="foreseal-upgrade-"))
    upgrade = RollingUpgrade(folder, etcd, haproxy, given.program.split(), given.seed)
    # The cluster stops in order, as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    summary = upgrade.run()
    show(summary, upgrade.problems)
    for phase in summary.phases:
        print(f"  {phase}")
    write(upgrade.recording, folder / "recording.jsonl")
    origins = f"make cluster-upgrade SEED={given.seed}", ()
    return conclude(summary, upgrade.problems, given.save, origins, folder)


if __name__ == "__main__":
    sys.exit(main())
