//! Budgets of a caller: tokens of its calls, and processor time.

use std::time::Duration;

/// Reason why a caller may not make a call now, and the time after which it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The caller has too few tokens.
    Rate { retry_after: Duration },
    /// The caller has used up its processor time.
    Cpu { retry_after: Duration },
}

/// Budgets of one caller, which its calls are charged to.
pub trait CallerBudget {
    /// Returns the refusal of any call if none is allowed now. Nothing is charged.
    fn refusal(&self) -> Option<Refusal>;

    /// Charges a call that costs `tokens`, or refuses it and charges nothing. A cost above the burst takes the burst.
    fn charge(&self, tokens: u64) -> Result<(), Refusal>;

    /// Charges calls that cost `tokens` together; returns `false`, and charges nothing, if not all are within the
    /// budgets now.
    fn charge_all(&self, tokens: u64) -> bool;

    /// Charges processor time.
    fn charge_cpu(&self, used: Duration);
}

/// Size of a response in bytes from which a caller is charged for its transport.
const CHARGED_SIZE: usize = 32 << 10;

/// Processor time for each byte of a charged response: it is copied to Python, into its envelope and to the socket.
const BYTE_TIME: Duration = Duration::from_nanos(3);

/// Returns the processor time of the transport of `size` bytes.
pub(super) fn transport_time(size: usize) -> Duration {
    if size > CHARGED_SIZE { BYTE_TIME * u32::try_from(size).unwrap_or(u32::MAX) } else { Duration::ZERO }
}
