//! Calls of a transaction as a flat list, in the format of Parity that geth adopted.

use foreseal_evm::{CallFrame, FrameKind};

use super::{
    call_frame::{TracePosition, kind_name},
    object::Object,
};
use crate::params::trace::FlatOptions;

/// Returns `true` for a call of a precompiled contract, which Parity omits.
pub fn is_precompile_call(frame: &CallFrame) -> bool {
    frame.precompile && frame.depth > 0 && matches!(frame.kind, FrameKind::Call | FrameKind::StaticCall)
}

/// Position of a call within its transaction, and position of the transaction.
#[derive(Clone, Copy, Debug)]
pub struct FlatPosition<'a> {
    /// Index of the call among its caller's calls, preceded by the indices of all its ancestors.
    pub path: &'a [usize],
    pub callees: usize,
    pub position: TracePosition,
}

/// Writes one call of the flat list.
pub fn write_flat_call(out: &mut Vec<u8>, frame: &CallFrame, options: FlatOptions, at: FlatPosition<'_>) {
    let mut object = Object::open(out);
    write_action(object.name("action"), frame);
    object
        .nullable_data("blockHash", at.position.block_hash)
        .json("blockNumber", &at.position.block_number.to_string());
    if let Some(error) = &frame.error {
        object.text("error", if options.parity_errors { parity_error(error) } else { error });
    }
    if frame.kind != FrameKind::SelfDestruct && (frame.error.is_none() || frame.reverted) {
        write_result(object.name("result"), frame);
    }
    let kind = match frame.kind {
        FrameKind::Create | FrameKind::Create2 => "\"create\"",
        FrameKind::SelfDestruct => "\"suicide\"",
        FrameKind::Call | FrameKind::StaticCall | FrameKind::DelegateCall | FrameKind::CallCode => "\"call\"",
    };
    object
        .json("subtraces", &at.callees.to_string())
        .list("traceAddress", at.path, |out, index| out.extend_from_slice(index.to_string().as_bytes()))
        .nullable_data("transactionHash", at.position.hash)
        .json("transactionPosition", &at.position.index.to_string())
        .json("type", kind)
        .close();
}

fn write_action(out: &mut Vec<u8>, frame: &CallFrame) {
    let mut object = Object::open(out);
    let value = frame.value.unwrap_or_default();
    let name = format!("\"{}\"", kind_name(frame.kind).to_lowercase());
    match frame.kind {
        FrameKind::SelfDestruct => object
            .data("address", frame.from)
            .quantity("balance", value)
            .optional_data("refundAddress", frame.to),
        FrameKind::Create | FrameKind::Create2 => object
            .json("creationMethod", &name)
            .data("from", frame.from)
            .quantity("gas", frame.gas)
            .data("init", &frame.input)
            .quantity("value", value),
        FrameKind::Call | FrameKind::StaticCall | FrameKind::DelegateCall | FrameKind::CallCode => object
            .json("callType", &name)
            .data("from", frame.from)
            .quantity("gas", frame.gas)
            .data("input", &frame.input)
            .optional_data("to", frame.to)
            .quantity("value", value),
    };
    object.close();
}

fn write_result(out: &mut Vec<u8>, frame: &CallFrame) {
    let mut object = Object::open(out);
    match frame.kind {
        FrameKind::Create | FrameKind::Create2 => object
            .optional_data("address", frame.to)
            .data("code", &frame.output)
            .quantity("gasUsed", frame.gas_used),
        FrameKind::Call
        | FrameKind::StaticCall
        | FrameKind::DelegateCall
        | FrameKind::CallCode
        | FrameKind::SelfDestruct => object.quantity("gasUsed", frame.gas_used).data("output", &frame.output),
    };
    object.close();
}

/// Returns Parity's message for a failure, or the original one if Parity has none.
fn parity_error(error: &str) -> &str {
    match error {
        "contract creation code storage out of gas" | "out of gas" | "gas uint64 overflow" => "Out of gas",
        "invalid jump destination" => "Bad jump destination",
        "execution reverted" => "Reverted",
        "return data out of bounds" => "Out of bounds",
        "stack limit reached 1024 (1023)" => "Out of stack",
        "precompiled failed" => "Built-in failed",
        _ if error.starts_with("out of gas:") || error.starts_with("max code size exceeded") => "Out of gas",
        _ if error.starts_with("invalid opcode:") => "Bad instruction",
        _ if error.starts_with("stack underflow") => "Stack underflow",
        other => other,
    }
}
