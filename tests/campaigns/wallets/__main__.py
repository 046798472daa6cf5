"""The campaign of wallets that are contracts: `python -m wallets`. `make wallets` runs its long form."""

import sys

from campaign_cli import conclude, options, show
from wallets import sales
from wallets.campaign import run
from wallets.kinds import KINDS
from wallets.trial import Trial


def main() -> int:
    """Run the chosen wallets and the hostile sales, and return 0 without violations."""
    parser = options("wallets")
    parser.add_argument("--wallets", nargs="+", choices=list(KINDS), default=list(KINDS), help="Kinds of wallets.")
    parser.add_argument("--operations", nargs="+", help="Names of operations; by default all.")
    parser.add_argument("--sales", type=int, default=0, help="Hostile sales whose gas is measured afterwards.")
    parser.add_argument("--verbose", action="store_true", help="Print each combination.")
    given = parser.parse_args()

    def shown(trial: Trial) -> None:
        if given.verbose or trial.violations:
            print(trial, flush=True)

    report = run(given.wallets, given.operations, shown)
    show(report, [])
    gas = sales.run(given.sales, given.seed)
    if given.sales:
        show(gas, gas.faults)
    origins = (f"make wallets SALES={given.sales} SEED={given.seed}", ("x402", "eth-account"))
    return conclude([report, gas], [*report.faults, *gas.faults], given.save, origins)


if __name__ == "__main__":
    sys.exit(main())
