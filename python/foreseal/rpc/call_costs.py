"""Cost of a call in rate limiter tokens: 1, unless the method does much more work than most."""

COSTS: dict[str, int] = {
    "eth_estimateGas": 2,
    "eth_createAccessList": 2,
    "eth_fillTransaction": 2,
    "eth_getProof": 5,
    "eth_getLogs": 5,
    "eth_getFilterLogs": 5,
    "foreseal_getLogs": 5,
    "foreseal_getFlashblocks": 5,
    "eth_getBlockReceipts": 5,
    "txpool_content": 5,
    "txpool_inspect": 5,
    "eth_simulateV1": 10,
    "debug_traceCall": 10,
    "debug_traceTransaction": 20,
    "debug_traceBlockByHash": 50,
    "debug_traceBlockByNumber": 50,
}
"""Cost by method."""
