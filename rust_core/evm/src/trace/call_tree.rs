//! The call tree: recorded by revm-inspectors, with the additional fields that geth shows.

use alloy_primitives::{Address, Bytes, Log, TxKind, U256};
use foreseal_primitives::SpecId;
use revm::{
    bytecode::opcode,
    context::TxEnv,
    context_interface::{ContextTr, JournalTr},
    inspector::Inspector,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter,
        InterpreterAction, InterpreterResult,
        interpreter_types::{InputsTr, LoopControl, RuntimeFlag},
    },
};
use revm_inspectors::tracing::{
    TracingInspector, TracingInspectorConfig,
    types::{CallKind, CallTraceNode},
};

use super::{
    error_message::{LastInstruction, error_message},
    options::CallOptions,
    struct_log::status,
};
use crate::context::EvmContext;

/// Approximate memory in bytes of a call without input and output.
const FRAME_SIZE: usize = 1024;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    Call,
    StaticCall,
    DelegateCall,
    CallCode,
    Create,
    Create2,
    /// Not a real frame: geth shows the instruction as one.
    SelfDestruct,
}

/// A call, a creation or a self-destruct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFrame {
    pub kind: FrameKind,
    pub from: Address,
    /// Recipient or created contract; `None` for a creation that failed.
    pub to: Option<Address>,
    /// Value in wei; `None` for a static call.
    pub value: Option<U256>,
    /// Gas limit of the frame; for the first frame, the transaction's gas limit.
    pub gas: u64,
    /// Gas used by the frame; for the first frame, the gas used in the receipt.
    pub gas_used: u64,
    pub input: Bytes,
    pub output: Bytes,
    /// Error message in geth's wording.
    pub error: Option<String>,
    /// `true` if the frame failed by a revert.
    pub reverted: bool,
    /// Logs of the frame that were not reverted.
    pub logs: Vec<FrameLog>,
    /// Call depth; 0 for the transaction's own call.
    pub depth: usize,
    /// `true` if the frame calls a precompiled contract.
    pub precompile: bool,
}

impl CallFrame {
    /// Returns the only frame of a deposit that cannot begin, for example because its gas does not cover its data.
    pub(super) fn unexecuted(transaction: &TxEnv) -> Self {
        let (kind, to) = match transaction.kind {
            TxKind::Call(to) => (FrameKind::Call, Some(to)),
            TxKind::Create => (FrameKind::Create, None),
        };
        Self {
            kind,
            from: transaction.caller,
            to,
            value: Some(transaction.value),
            gas: transaction.gas_limit,
            gas_used: transaction.gas_limit,
            input: transaction.data.clone(),
            output: Bytes::new(),
            error: Some("failed deposit".to_owned()),
            reverted: false,
            logs: Vec::new(),
            depth: 0,
            precompile: false,
        }
    }
}

/// A log of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameLog {
    pub log: Log,
    /// Number of calls that the frame had made before the log.
    pub position: u64,
    /// Index of the log in the block.
    pub index: u64,
}

/// The instruction that destroys a contract at the end of its frame.
#[derive(Clone, Copy)]
struct SelfDestruct {
    from: Address,
    to: Address,
    value: U256,
}

/// Frame data that [`TracingInspector`] does not record.
#[derive(Default)]
struct FrameDetails {
    last: Option<LastInstruction>,
    destroyed: Option<SelfDestruct>,
    error: Option<String>,
    precompile: bool,
    /// Output of the frame in Frontier, where a creation that cannot pay for its code succeeds without it.
    returned: Bytes,
}

/// Records calls.
pub(super) struct CallRecorder {
    inner: TracingInspector,
    /// Notes in the order in which frames were opened, as in `inner`.
    details: Vec<FrameDetails>,
    /// Indexes of the open frames.
    open: Vec<usize>,
    /// Approximate number of bytes recorded.
    size: usize,
}

/// Transaction data that the frame of its own call shows.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub gas_limit: u64,
    pub gas_used: u64,
    /// Index in the block of the transaction's first log.
    pub first_log_index: u64,
}

impl CallRecorder {
    pub fn new(options: CallOptions) -> Self {
        let config = TracingInspectorConfig::none().set_record_inputs(true).set_record_logs(options.logs);
        Self { inner: TracingInspector::new(config), details: Vec::new(), open: Vec::new(), size: 0 }
    }

    /// Returns the approximate number of bytes recorded.
    pub fn size(&self) -> usize {
        self.size
    }

    fn enter(&mut self, precompile: bool, input: usize) {
        self.open.push(self.details.len());
        self.details.push(FrameDetails { precompile, ..FrameDetails::default() });
        self.size += FRAME_SIZE + input;
    }

    fn leave(&mut self, result: &InterpreterResult) {
        self.size += result.output.len();
        let Some(details) = self.open.pop().and_then(|index| self.details.get_mut(index)) else { return };
        details.error = error_message(result.result, details.last.as_ref(), result.output.len());
    }

    fn current(&mut self) -> Option<&mut FrameDetails> {
        self.details.get_mut(*self.open.last()?)
    }

    /// Returns the frames, the transaction's own call first.
    pub fn frames(self, options: CallOptions, outcome: Outcome) -> Vec<CallFrame> {
        let nodes = self.inner.into_traces().into_nodes();
        let mut tree = CallTree { nodes, details: self.details, frames: Vec::new() };
        tree.build_frames();
        let mut frames = tree.frames;
        if let Some(top) = frames.first_mut() {
            top.gas = outcome.gas_limit;
            top.gas_used = outcome.gas_used;
        }
        clear_failed_logs(&mut frames);
        number_logs(&mut frames, outcome.first_log_index);
        if options.only_top {
            frames.truncate(1);
        }
        frames
    }
}

/// Flattens the nodes to frames.
struct CallTree {
    nodes: Vec<CallTraceNode>,
    details: Vec<FrameDetails>,
    frames: Vec<CallFrame>,
}

impl CallTree {
    /// Orders a caller before its callees, and a self-destruct, which ends its frame, after them.
    fn build_frames(&mut self) {
        enum Visit {
            CallFrame(usize),
            SelfDestruct(SelfDestruct, usize),
        }
        if self.details.is_empty() {
            return;
        }
        let mut left = vec![Visit::CallFrame(0)];
        while let Some(visit) = left.pop() {
            match visit {
                Visit::CallFrame(index) => {
                    let details = std::mem::take(&mut self.details[index]);
                    let node = std::mem::take(&mut self.nodes[index]);
                    let depth = node.trace.depth;
                    left.extend(details.destroyed.map(|one| Visit::SelfDestruct(one, depth + 1)));
                    left.extend(node.children.iter().rev().map(|child| Visit::CallFrame(*child)));
                    self.frames.push(frame(node, details));
                }
                Visit::SelfDestruct(destroyed, depth) => {
                    self.frames.push(self_destruct(destroyed, depth));
                }
            }
        }
    }
}

fn frame(node: CallTraceNode, details: FrameDetails) -> CallFrame {
    let trace = node.trace;
    let status = trace.status.unwrap_or_default();
    let reverted = status == InstructionResult::Revert;
    let (kind, creation) = match trace.kind {
        CallKind::Call | CallKind::AuthCall => (FrameKind::Call, false),
        CallKind::StaticCall => (FrameKind::StaticCall, false),
        CallKind::CallCode => (FrameKind::CallCode, false),
        CallKind::DelegateCall => (FrameKind::DelegateCall, false),
        CallKind::Create => (FrameKind::Create, true),
        CallKind::Create2 => (FrameKind::Create2, true),
    };
    // A revert, and a call that is rejected before it begins, return the remaining gas.
    let keeps_gas = trace.success || status.is_revert() || status == InstructionResult::NonceOverflow;
    let output = match (trace.success, reverted) {
        (true, _) if creation && trace.output.is_empty() => details.returned,
        (true, _) | (_, true) => trace.output,
        (false, false) => Bytes::new(),
    };
    let logs = node.logs.into_iter().map(|log| FrameLog {
        position: log.position,
        index: 0,
        log: Log { address: log.address, data: log.raw_log },
    });
    CallFrame {
        kind,
        from: trace.caller,
        to: (trace.success || !creation).then_some(trace.address),
        value: (kind != FrameKind::StaticCall).then_some(trace.value),
        gas: trace.gas_limit,
        gas_used: if keeps_gas { trace.gas_used } else { trace.gas_limit },
        input: trace.data,
        output,
        error: details.error.or_else(|| error_message(status, details.last.as_ref(), 0)),
        reverted,
        logs: logs.collect(),
        depth: trace.depth,
        precompile: details.precompile,
    }
}

fn self_destruct(destroyed: SelfDestruct, depth: usize) -> CallFrame {
    CallFrame {
        kind: FrameKind::SelfDestruct,
        from: destroyed.from,
        to: Some(destroyed.to),
        value: Some(destroyed.value),
        gas: 0,
        gas_used: 0,
        input: Bytes::new(),
        output: Bytes::new(),
        error: None,
        reverted: false,
        logs: Vec::new(),
        depth,
        precompile: false,
    }
}

/// Removes the logs of a failed frame and of its callees.
fn clear_failed_logs(frames: &mut [CallFrame]) {
    let mut failed: Option<usize> = None;
    for frame in frames {
        if failed.is_some_and(|depth| frame.depth > depth) {
            frame.logs.clear();
            continue;
        }
        failed = frame.error.is_some().then_some(frame.depth);
        if failed.is_some() {
            frame.logs.clear();
        }
    }
}

/// Numbers the logs in emission order: the logs of a callee come between those of its caller.
fn number_logs(frames: &mut [CallFrame], first: u64) {
    struct OpenFrame {
        frame: usize,
        calls: u64,
        next: usize,
    }
    let mut index = first;
    let mut open: Vec<OpenFrame> = Vec::new();
    let mut emit = |frames: &mut [CallFrame], one: &mut OpenFrame, before: u64| {
        while let Some(log) = frames[one.frame].logs.get_mut(one.next).filter(|log| log.position <= before) {
            log.index = index;
            index += 1;
            one.next += 1;
        }
    };
    for at in 0..frames.len() {
        while open.len() > frames[at].depth {
            if let Some(mut ended) = open.pop() {
                emit(frames, &mut ended, u64::MAX);
            }
        }
        if let Some(caller) = open.last_mut() {
            emit(frames, caller, caller.calls);
            caller.calls += 1;
        }
        open.push(OpenFrame { frame: at, calls: 0, next: 0 });
    }
    while let Some(mut ended) = open.pop() {
        emit(frames, &mut ended, u64::MAX);
    }
}

impl<'a> Inspector<EvmContext<'a>> for CallRecorder {
    fn initialize_interp(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.inner.initialize_interp(interpreter, context);
    }

    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        let step = LastInstruction::new(interpreter);
        let destroyed = (step.op == opcode::SELFDESTRUCT).then(|| {
            let from = interpreter.input.target_address();
            let account = context.journal_ref().evm_state().get(&from);
            let value = account.map_or(U256::ZERO, |account| account.info.balance);
            SelfDestruct { from, to: Address::from_word(step.top[0].into()), value }
        });
        if let Some(details) = self.current() {
            details.last = Some(step);
            details.destroyed = destroyed;
        }
    }

    fn step_end(&mut self, interpreter: &mut Interpreter, _: &mut EvmContext<'a>) {
        let Some(status) = status(interpreter) else { return };
        let frontier = !interpreter.runtime_flag.spec_id().is_enabled_in(SpecId::HOMESTEAD);
        let Some(details) = self.current() else { return };
        if !status.is_ok() {
            details.destroyed = None;
            return;
        }
        if let Some(last) = &mut details.last {
            last.succeeded = true;
        }
        if !frontier {
            return;
        }
        if let Some(InterpreterAction::Return(result)) = interpreter.bytecode.action() {
            details.returned = result.output.clone();
        }
    }

    fn log(&mut self, context: &mut EvmContext<'a>, log: Log) {
        self.size += log.data.data.len() + FRAME_SIZE / 4;
        self.inner.log(context, log);
    }

    fn call(&mut self, context: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let precompile = context.journal_ref().precompile_addresses().contains(&inputs.bytecode_address);
        self.enter(precompile, inputs.input.len());
        self.inner.call(context, inputs)
    }

    fn call_end(&mut self, context: &mut EvmContext<'a>, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.leave(&outcome.result);
        self.inner.call_end(context, inputs, outcome);
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.enter(false, inputs.init_code().len());
        self.inner.create(context, inputs)
    }

    fn create_end(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        self.leave(&outcome.result);
        self.inner.create_end(context, inputs, outcome);
    }
}
