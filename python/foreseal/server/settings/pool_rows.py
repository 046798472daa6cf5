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
    Setting(
        key="pool.max_gas",
        name="pool_max_gas",
        kind=Integer(0, unit="gas"),
        help="Maximum gas limit of a submission; 0 for that of the fork alone.",
        more="Since Osaka the fork's own is 16,777,216 (EIP-7825).",
        unset="16777216 with `--public`, otherwise 0",
        path="pool.max_gas",
    ),
)
