//! Limits of one request.

use std::time::Duration;

use foreseal_evm::{CallLimits, Deadline};

/// Time limit of an execution or a search in an attempt on the receiving thread.
const ATTEMPT_TIME: Duration = Duration::from_micros(200);
/// Maximum number of logs in the result of an attempt.
const MAX_ATTEMPT_LOGS: u64 = 512;

/// Limits of one request. Each is a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of logs in the result of one `eth_getLogs`. Does not apply to a range of a single
    /// block.
    pub logs: u64,
    /// Time limit of one `eth_getLogs`. Does not apply to a range of a single block.
    pub log_time: Duration,
    /// Maximum number of filters that exist at once.
    pub filters: u64,
    /// Maximum number of addresses and topics, together, in the filter of a subscription.
    pub terms: u64,
    /// Maximum number of flashblocks in one `foreseal_getFlashblocks`.
    pub flashblocks: u64,
    /// Size in bytes of flashblocks after which the result of `foreseal_getFlashblocks` ends.
    pub flashblock_bytes: usize,
    /// Gas limit of one `eth_call` or estimate.
    pub call_gas: u64,
    /// Time limit of one `eth_call`, estimate or trace.
    pub call_time: Duration,
    /// Gas limit of all calls of one `eth_simulateV1` together.
    pub simulate_gas: u64,
    /// Maximum number of storage slots in one `eth_getProof` or `eth_getStorageValues`.
    pub slots: u64,
    /// Maximum number of transactions in the result of one `txpool_content` or `txpool_inspect`.
    pub pool_transactions: u64,
    /// Maximum timeout that a caller of `eth_sendRawTransactionSync` may request.
    pub sync_time: Duration,
    /// Maximum size in bytes of a result. It is known before the result is rendered.
    pub response: usize,
    /// Maximum size in bytes of the result of one trace request.
    pub trace_bytes: usize,
}

impl Limits {
    /// Returns the execution limits of a call that starts now.
    pub(crate) fn call(&self) -> CallLimits {
        CallLimits { gas: self.call_gas, deadline: Deadline::after(self.call_time) }
    }

    /// Returns the maximum size of a trace in bytes.
    pub(crate) fn trace(&self) -> usize {
        self.trace_bytes.min(self.response)
    }

    /// Returns the limits of an attempt. None exceeds that of `self`.
    pub(crate) fn for_inline_attempt(&self) -> Self {
        Self {
            logs: self.logs.min(MAX_ATTEMPT_LOGS),
            log_time: self.log_time.min(ATTEMPT_TIME),
            call_time: self.call_time.min(ATTEMPT_TIME),
            ..*self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            logs: 10_000,
            filters: 1_000,
            terms: 1_000,
            flashblocks: 1_000,
            flashblock_bytes: 8 << 20,
            log_time: Duration::from_secs(5),
            call_gas: 400_000_000,
            call_time: Duration::from_secs(5),
            simulate_gas: 50_000_000,
            slots: 1024,
            pool_transactions: 20_000,
            sync_time: Duration::from_secs(30),
            response: 64 << 20,
            trace_bytes: 64 << 20,
        }
    }
}
