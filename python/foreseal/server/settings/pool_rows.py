"""Rows of the pool in the table of settings."""

from foreseal.server.settings.kinds import Integer
from foreseal.server.settings.setting import Setting

POOL = (
    Setting(
        key="pool.min_tip",
        name="pool_min_tip",
        kind=Integer(0, unit="wei"),
        help="Minimum tip of a submission, in wei per gas.",
        more="`maxPriorityFeePerGas`, or the gas price of a legacy transaction. Below it: `transaction underpriced`. "
        "`eth_gasPrice` and `eth_maxPriorityFeePerGas` return no less.",
        unset="1000000 with `--public`, otherwise 0",
        path="pool.min_tip",
    ),
)
