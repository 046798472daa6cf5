"""The long form of the campaign, with its result in a file: `make cluster-faults`."""

import signal
import sys
import tempfile
from pathlib import Path

from campaign_cli import conclude, options, show
from cluster.campaign import FaultCampaign
from cluster.plan import FaultKind
from foreseal.cluster.etcd import find_etcd
from live.process import foreseal_command


def main() -> int:
    """Run it and return 0 if no guarantee was broken."""
    parser = options("cluster")
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--etcd", help="program of the etcd members; default: etcd on the PATH")
    parser.add_argument("--program", help="another command with the options of `foreseal run`")
    parser.add_argument("--kind", action="append", choices=[kind.value for kind in FaultKind], help="repeatable")
    given = parser.parse_args()
    etcd = find_etcd(given.etcd)
    if etcd is None:
        parser.error(f"{given.etcd or 'etcd'} is not installed: name the program with --etcd")
    folder = Path(tempfile.mkdtemp(prefix="foreseal-cluster-"))
    program = given.program.split() if given.program else [foreseal_command()]
    campaign = FaultCampaign(folder, etcd, program, given.seed)
    kinds = [FaultKind(name) for name in given.kind or ()] or list(FaultKind)
    # The cluster stops in order, as on Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    summary = campaign.run(given.faults, kinds)
    violations = [f"{kind}: {detail}" for kind, detail in campaign.report.violations]
    show(summary, violations)
    command = f"make cluster-faults FAULTS={given.faults} SEED={given.seed}"
    return conclude(summary, violations, given.save, (command, ()), folder)


if __name__ == "__main__":
    sys.exit(main())
