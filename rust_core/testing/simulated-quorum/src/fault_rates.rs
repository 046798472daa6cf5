//! Probabilities of faults.

/// Probabilities of the faults of a request, each in thousandths. The order of late requests is random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// The request is not executed and not answered.
    pub lost_request: u32,
    /// The request is executed, but the answer is lost.
    pub lost_answer: u32,
    /// The request is not answered, and is executed before one of the later requests.
    pub late: u32,
    /// The request is executed and answered, and executed again before one of the later requests.
    pub doubled: u32,
    /// The request is executed twice, and the second answer is returned.
    pub resent: u32,
}
