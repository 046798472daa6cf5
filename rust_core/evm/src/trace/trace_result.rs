//! Results of traces.

use std::collections::BTreeMap;

use alloy_primitives::Bytes;

use super::{call_tree::CallFrame, prestate::Prestate};

/// Output of a [`Tracer`](crate::Tracer).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// The steps were passed to the sink.
    StructLogs {
        /// Gas used, as in the receipt.
        gas: u64,
        failed: bool,
        /// Returned or revert data; empty if the transaction halted.
        output: Bytes,
    },
    /// The transaction's own call first, callees in order after their caller.
    Calls(Vec<CallFrame>),
    Prestate(Prestate),
    /// Number of calls by selector and length of the rest of the input in bytes.
    FourByte(BTreeMap<([u8; 4], usize), u64>),
    Noop,
    /// Traces in the order of the requested tracers.
    Mux(Vec<Trace>),
}

impl Trace {
    /// Adds the frame of a deposit that could not begin to the calls, if these are empty.
    pub(super) fn add_unexecuted(&mut self, frame: &CallFrame) {
        match self {
            Self::Calls(frames) if frames.is_empty() => frames.push(frame.clone()),
            Self::Mux(traces) => traces.iter_mut().for_each(|trace| trace.add_unexecuted(frame)),
            _ => {}
        }
    }
}
