//! Size limit of traces.

/// Size limit of a trace. A trace that exceeds it is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trace has more than {max} bytes")]
pub struct TraceLimit {
    /// Maximum number of bytes, either recorded in memory or accepted by a sink.
    pub max: usize,
}
