//! Settings that limit a method, in addition to those that limit every request.

/// Names of limits in the settings, and the methods that they apply to.
const LIMITS: &[(&[&str], &[&str])] = &[
    (
        &["logs", "log_time"],
        &["eth_getLogs", "eth_getFilterLogs", "eth_getFilterChanges", "foreseal_getLogs"],
    ),
    (&["filters"], &["eth_newFilter", "eth_newBlockFilter", "eth_newPendingTransactionFilter"]),
    (
        &["call_gas", "call_time"],
        &[
            "eth_call",
            "eth_estimateGas",
            "eth_createAccessList",
            "eth_fillTransaction",
            "eth_sendTransaction",
        ],
    ),
    (&["simulate_gas", "call_time"], &["eth_simulateV1"]),
    (
        &["call_time", "trace_bytes"],
        &["debug_traceTransaction", "debug_traceBlockByNumber", "debug_traceBlockByHash"],
    ),
    (&["call_gas", "call_time", "trace_bytes"], &["debug_traceCall"]),
    (&["slots"], &["eth_getProof", "eth_getStorageValues"]),
    (&["pool_transactions"], &["txpool_content", "txpool_inspect"]),
    (&["flashblocks", "flashblock_bytes"], &["foreseal_getFlashblocks"]),
    (&["sync_time"], &["eth_sendRawTransactionSync"]),
    (&["subscriptions", "terms"], &["eth_subscribe"]),
];

/// Returns the limits of a method.
pub fn limits_of_method(name: &str) -> &'static [&'static str] {
    LIMITS.iter().find(|(_, methods)| methods.contains(&name)).map_or(&[], |(limits, _)| *limits)
}

/// Returns the names of the methods that have limits.
#[cfg(test)]
pub fn named() -> impl Iterator<Item = &'static str> {
    LIMITS.iter().flat_map(|(_, methods)| methods.iter().copied())
}
