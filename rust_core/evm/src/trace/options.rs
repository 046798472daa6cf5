//! Kinds of traces and their options.

/// The kind of trace to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracer {
    /// Every instruction, passed to the replay's [`StructLogSink`](crate::StructLogSink).
    StructLogs(StructLogOptions),
    /// The call tree.
    Calls(CallOptions),
    /// The accounts that the transaction reads, or its changes.
    Prestate(PrestateOptions),
    /// The function selectors of calls, each with the length of the rest of the input.
    FourByte,
    /// Records nothing.
    Noop,
    /// Several tracers at once, none of them [`Tracer::StructLogs`].
    Mux(Vec<Tracer>),
}

/// Fields of a step to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own in the request")]
pub struct StructLogOptions {
    pub memory: bool,
    pub no_stack: bool,
    pub no_storage: bool,
    pub return_data: bool,
    /// Bytes of written steps after which none is recorded; zero for all, as in geth.
    pub limit: u64,
}

/// Options of the call tracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallOptions {
    /// Records only the transaction's own call.
    pub only_top: bool,
    /// Includes the logs that were not reverted.
    pub logs: bool,
}

/// Options of the prestate tracer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own in the request")]
pub struct PrestateOptions {
    /// Records the changes, before and after, instead of all accounts read.
    pub diff: bool,
    pub no_code: bool,
    pub no_storage: bool,
    /// Includes accounts that do not exist before the transaction.
    pub include_empty: bool,
}
