//! Traces in geth's format.

use std::io::Write as _;

use alloy_primitives::U256;
use foreseal_evm::{
    AccountState, CallFrame, FrameLog, Prestate, StructLog, StructLogSink, Trace, TraceLimit,
};

use super::{
    call_frame::{TracePosition, kind_name},
    flat_calls::{FlatPosition, is_precompile_call, write_flat_call},
    hex::{write_data, write_quantity},
    object::Object,
};
use crate::{
    json::revert,
    params::trace::{FlatOptions, NamedTracer},
};

/// Initial capacity in bytes for a step without stack, memory or storage.
const STEP_ROOM: usize = 128;

/// Writer of traces that enforces a size limit.
#[derive(Debug)]
pub struct TraceWriter {
    pub out: Vec<u8>,
    /// Maximum size in bytes.
    limit: usize,
    /// `true` after the first step of the open list of steps.
    follows: bool,
}

impl TraceWriter {
    /// Creates a writer of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { out: Vec::new(), limit, follows: false }
    }

    /// Returns the number of bytes that remain below the limit.
    pub fn left(&self) -> usize {
        self.limit.saturating_sub(self.out.len())
    }

    fn check(&self) -> Result<(), TraceLimit> {
        if self.out.len() > self.limit { Err(TraceLimit { max: self.limit }) } else { Ok(()) }
    }

    /// Starts the trace of a transaction. Steps are written during its execution.
    pub fn open(&mut self, tracer: &NamedTracer) {
        if let NamedTracer::Steps(_) = tracer {
            self.out.extend_from_slice(b"{\"structLogs\":[");
            self.follows = false;
        }
    }

    /// Writes a recorded trace. For a step trace, writes the fields after the steps.
    pub fn write(
        &mut self,
        tracer: &NamedTracer,
        trace: &Trace,
        position: TracePosition,
    ) -> Result<(), TraceLimit> {
        match (tracer, trace) {
            (_, Trace::StructLogs { gas, failed, output }) => {
                self.out.extend_from_slice(b"],\"gas\":");
                write_number(&mut self.out, *gas);
                self.out.extend_from_slice(if *failed { b",\"failed\":true" } else { b",\"failed\":false" });
                self.out.extend_from_slice(b",\"returnValue\":");
                write_data(&mut self.out, output);
                self.out.push(b'}');
            }
            (NamedTracer::FlatCalls(options), Trace::Calls(frames)) => {
                self.flat_calls(frames, *options, position)?;
            }
            (_, Trace::Calls(frames)) => self.calls(frames)?,
            (_, Trace::Prestate(Prestate::Pre(accounts))) => self.accounts(accounts)?,
            (_, Trace::Prestate(Prestate::Diff { pre, post })) => {
                self.out.extend_from_slice(b"{\"post\":");
                self.accounts(post)?;
                self.out.extend_from_slice(b",\"pre\":");
                self.accounts(pre)?;
                self.out.push(b'}');
            }
            (_, Trace::FourByte(counts)) => {
                let mut object = Object::open(&mut self.out);
                for ((selector, rest), count) in counts {
                    let name = format!("0x{}-{rest}", alloy_primitives::hex::encode(selector));
                    object.json(&name, &count.to_string());
                }
                object.close();
            }
            (_, Trace::Noop) => self.out.extend_from_slice(b"{}"),
            (NamedTracer::Mux(tracers), Trace::Mux(traces)) => {
                let mut separator = b'{';
                for ((name, tracer), trace) in tracers.iter().zip(traces) {
                    self.out.push(separator);
                    self.out.extend_from_slice(format!("\"{name}\":").as_bytes());
                    self.write(tracer, trace, position)?;
                    separator = b',';
                }
                self.out.extend_from_slice(if separator == b'{' { b"{}" } else { b"}" });
            }
            (_, Trace::Mux(_)) => unreachable!("a mux trace is of a mux tracer"),
        }
        self.check()
    }

    /// Writes a tree of calls. It is iterative, because the tree may be 1,024 levels deep.
    fn calls(&mut self, frames: &[CallFrame]) -> Result<(), TraceLimit> {
        for (at, frame) in frames.iter().enumerate() {
            write_call(&mut self.out, frame);
            let next = frames.get(at + 1).map(|next| next.depth);
            if next.is_some_and(|depth| depth > frame.depth) {
                self.out.extend_from_slice(b",\"calls\":[");
                continue;
            }
            self.out.push(b'}');
            for _ in next.unwrap_or(0)..frame.depth {
                self.out.extend_from_slice(b"]}");
            }
            if next.is_some() {
                self.out.push(b',');
            }
            self.check()?;
        }
        Ok(())
    }

    fn flat_calls(
        &mut self,
        frames: &[CallFrame],
        options: FlatOptions,
        position: TracePosition,
    ) -> Result<(), TraceLimit> {
        let shown: Vec<&CallFrame> =
            frames.iter().filter(|frame| options.precompiles || !is_precompile_call(frame)).collect();
        let mut path: Vec<usize> = Vec::new();
        self.out.push(b'[');
        for (at, frame) in shown.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
                // A sibling follows the last call at its depth; a callee is the first at its depth.
                if path.len() >= frame.depth {
                    path.truncate(frame.depth);
                    if let Some(last) = path.last_mut() {
                        *last += 1;
                    }
                } else {
                    path.push(0);
                }
            }
            let below = shown[at + 1..].iter().take_while(|next| next.depth > frame.depth);
            let callees = below.filter(|next| next.depth == frame.depth + 1).count();
            write_flat_call(&mut self.out, frame, options, FlatPosition { path: &path, callees, position });
            self.check()?;
        }
        self.out.push(b']');
        Ok(())
    }

    fn accounts<'a>(
        &mut self,
        accounts: impl IntoIterator<Item = (&'a alloy_primitives::Address, &'a AccountState)>,
    ) -> Result<(), TraceLimit> {
        let mut separator = b'{';
        for (address, part) in accounts {
            self.out.push(separator);
            separator = b',';
            write_data(&mut self.out, address.as_slice());
            self.out.push(b':');
            write_account(&mut self.out, part);
            self.check()?;
        }
        self.out.extend_from_slice(if separator == b'{' { b"{}" } else { b"}" });
        Ok(())
    }
}

impl StructLogSink for TraceWriter {
    fn record(&mut self, step: &StructLog<'_>) -> Result<usize, TraceLimit> {
        if self.follows {
            self.out.push(b',');
        }
        self.follows = true;
        let start = self.out.len();
        write_step(&mut self.out, step);
        self.check()?;
        Ok(self.out.len() - start)
    }
}

fn write_step(out: &mut Vec<u8>, step: &StructLog<'_>) {
    out.reserve(STEP_ROOM);
    let mut object = Object::open(out);
    write_number(object.name("pc"), step.pc as u64);
    write_plain(object.name("op"), &step.op);
    write_number(object.name("gas"), step.gas);
    write_number(object.name("gasCost"), step.gas_cost);
    write_number(object.name("depth"), step.depth as u64);
    if let Some(error) = &step.error {
        object.text("error", error);
    }
    if let Some(stack) = step.stack {
        object.list("stack", stack, |out, item| write_quantity(out, *item));
    }
    if let Some(data) = step.return_data.filter(|data| !data.is_empty()) {
        object.data("returnData", data);
    }
    if let Some(memory) = step.memory.filter(|memory| !memory.is_empty()) {
        object.list("memory", memory.chunks(32), |out, chunk| {
            let mut word = [0; 32];
            word[..chunk.len()].copy_from_slice(chunk);
            write_data(out, &word);
        });
    }
    if let Some(storage) = step.storage {
        write_storage(object.name("storage"), storage);
    }
    if step.refund > 0 {
        write_number(object.name("refund"), step.refund);
    }
    object.close();
}

/// Writing to memory does not fail.
fn write_number(out: &mut Vec<u8>, number: u64) {
    let _ = write!(out, "{number}");
}

/// Writes a string that needs no escapes.
fn write_plain(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

fn write_storage<'a>(out: &mut Vec<u8>, slots: impl IntoIterator<Item = (&'a U256, &'a U256)>) {
    let mut separator = b'{';
    for (slot, value) in slots {
        out.push(separator);
        separator = b',';
        write_data(out, &slot.to_be_bytes::<32>());
        out.push(b':');
        write_data(out, &value.to_be_bytes::<32>());
    }
    out.extend_from_slice(if separator == b'{' { b"{}" } else { b"}" });
}

fn write_account(out: &mut Vec<u8>, part: &AccountState) {
    let mut object = Object::open(out);
    object
        .optional_quantity("balance", part.balance)
        .optional_data("code", part.code.as_ref())
        .optional_data("codeHash", part.code_hash);
    if let Some(nonce) = part.nonce {
        write_number(object.name("nonce"), nonce);
    }
    if !part.storage.is_empty() {
        write_storage(object.name("storage"), &part.storage);
    }
    object.close();
}

/// Writes a call without its callees, and leaves the object open.
fn write_call(out: &mut Vec<u8>, frame: &CallFrame) {
    let mut object = Object::open(out);
    object
        .data("from", frame.from)
        .quantity("gas", frame.gas)
        .quantity("gasUsed", frame.gas_used)
        .optional_data("to", frame.to)
        .data("input", &frame.input);
    if !frame.output.is_empty() {
        object.data("output", &frame.output);
    }
    if let Some(error) = &frame.error {
        object.text("error", error);
    }
    // An empty reason is omitted, as in geth.
    let reason = frame.reverted.then(|| revert::reason(&frame.output)).flatten();
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        object.text("revertReason", &reason);
    }
    if !frame.logs.is_empty() {
        object.list("logs", &frame.logs, write_call_log);
    }
    object.optional_quantity("value", frame.value).json("type", &format!("\"{}\"", kind_name(frame.kind)));
}

fn write_call_log(out: &mut Vec<u8>, log: &FrameLog) {
    Object::open(out)
        .data("address", log.log.address)
        .list("topics", log.log.topics(), |out, topic| write_data(out, topic.as_slice()))
        .data("data", &log.log.data.data)
        .quantity("index", log.index)
        .quantity("position", log.position)
        .close();
}
