//! Struct logs: every instruction with the state before it.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use alloy_primitives::{Address, Bytes, U256, map::AddressMap};
use revm::{
    bytecode::opcode,
    context_interface::{ContextTr, JournalTr, Transaction, transaction::AuthorizationTr},
    inspector::Inspector,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, FrameInput, InstructionResult, Interpreter,
        InterpreterAction,
        instructions::{GasTable, gas_table_spec},
        interpreter_types::{InputsTr, Jumps, LegacyBytecode, LoopControl, ReturnData},
    },
    primitives::hardfork::SpecId,
};

use super::{
    error_message::{LastInstruction, error_message, op_name},
    options::StructLogOptions,
};
use crate::{context::EvmContext, trace_limit::TraceLimit};

/// Gas refund for an authorization of an existing account: `PER_EMPTY_ACCOUNT_COST - PER_AUTH_BASE_COST`.
const AUTHORIZATION_REFUND: u64 = 12_500;

/// One instruction, with gas, stack, memory and return data before its execution.
#[derive(Clone, Debug)]
pub struct StructLog<'a> {
    pub pc: usize,
    /// Name of the instruction.
    pub op: Cow<'static, str>,
    /// Gas left.
    pub gas: u64,
    /// Gas cost, including gas passed on to a call.
    pub gas_cost: u64,
    /// Call depth; 1 in the transaction's own call.
    pub depth: usize,
    /// Error message, if the instruction ended its frame with a failure other than a revert.
    pub error: Option<String>,
    /// The transaction's refund counter after the instruction.
    pub refund: u64,
    pub stack: Option<&'a [U256]>,
    pub memory: Option<&'a [u8]>,
    pub return_data: Option<&'a [u8]>,
    /// All slots of the contract that were read or written so far; only for instructions that read or write
    /// one.
    pub storage: Option<&'a BTreeMap<U256, U256>>,
}

/// Consumer of steps during execution.
pub trait StructLogSink {
    /// Consumes one step. Returns its written length in bytes.
    fn record(&mut self, step: &StructLog<'_>) -> Result<usize, TraceLimit>;
}

impl<S: StructLogSink> StructLogSink for &mut S {
    fn record(&mut self, step: &StructLog<'_>) -> Result<usize, TraceLimit> {
        (**self).record(step)
    }
}

/// Data of an instruction that is not yet executed.
struct PendingInstruction {
    pc: usize,
    gas: u64,
    step: LastInstruction,
}

/// Records steps.
pub(super) struct StructLogRecorder {
    options: StructLogOptions,
    /// Static gas of each instruction.
    prices: GasTable,
    /// Bytes of the steps so far.
    written: u64,
    pending: Option<PendingInstruction>,
    stack: Vec<U256>,
    memory: Vec<u8>,
    return_data: Bytes,
    storage: AddressMap<BTreeMap<U256, U256>>,
    /// Value of the refund counter at the entry of each open frame.
    refunds: Vec<i64>,
    /// Current value of the refund counter.
    refund: i64,
}

impl StructLogRecorder {
    pub fn new(options: StructLogOptions, fork: SpecId) -> Self {
        Self {
            options,
            prices: gas_table_spec(fork),
            written: 0,
            pending: None,
            stack: Vec::new(),
            memory: Vec::new(),
            return_data: Bytes::new(),
            storage: AddressMap::default(),
            refunds: Vec::new(),
            refund: 0,
        }
    }

    fn is_done(&self) -> bool {
        self.options.limit != 0 && self.written > self.options.limit
    }

    /// Completes the current instruction and passes it to `sink`.
    pub fn end(
        &mut self,
        interpreter: &mut Interpreter,
        sink: &mut impl StructLogSink,
    ) -> Result<(), TraceLimit> {
        let entered = self.refunds.last().copied().unwrap_or_default();
        self.refund = entered.saturating_add(interpreter.gas.refunded());
        let Some(begun) = self.pending.take() else { return Ok(()) };
        let status = status(interpreter);
        let failed = status.is_some_and(InstructionResult::is_halt);
        let address = interpreter.input.target_address();
        let touched = self.note_storage(address, &begun.step, interpreter, failed);
        let length = sink.record(&StructLog {
            pc: begun.pc,
            op: op_name(begun.step.op),
            gas: begun.gas,
            gas_cost: self.cost(&begun, interpreter, failed),
            depth: interpreter.input.depth() + 1,
            error: status.filter(|_| failed).and_then(|status| error_message(status, Some(&begun.step), 0)),
            refund: u64::try_from(self.refund).unwrap_or(0),
            stack: (!self.options.no_stack).then_some(&self.stack),
            memory: self.options.memory.then_some(&self.memory),
            return_data: self.options.return_data.then_some(&self.return_data),
            storage: if touched { self.storage.get(&address) } else { None },
        })?;
        self.written = self.written.saturating_add(length as u64);
        Ok(())
    }

    fn cost(&self, begun: &PendingInstruction, interpreter: &mut Interpreter, failed: bool) -> u64 {
        let charged = begun.gas.saturating_sub(interpreter.gas.remaining());
        if failed {
            return charged.max(u64::from(self.prices[usize::from(begun.step.op)]));
        }
        match interpreter.bytecode.action() {
            // A creation passes on gas in addition to its cost; a call counts passed gas as cost.
            Some(InterpreterAction::NewFrame(FrameInput::Create(inputs))) => {
                charged.saturating_sub(inputs.gas_limit())
            }
            _ => charged,
        }
    }

    /// Records the slot that the instruction accesses; returns `true` if it accesses one.
    fn note_storage(
        &mut self,
        address: Address,
        step: &LastInstruction,
        interpreter: &Interpreter,
        failed: bool,
    ) -> bool {
        let value = match step.op {
            _ if self.options.no_storage => return false,
            // An instruction that failed has accessed nothing, as in geth.
            _ if failed => return false,
            opcode::SSTORE => step.top[1],
            opcode::SLOAD => interpreter.stack.data().last().copied().unwrap_or_default(),
            _ => return false,
        };
        self.storage.entry(address).or_default().insert(step.top[0], value);
        true
    }
}

/// Returns the status with which the last instruction ended its frame, if it did.
pub(super) fn status(interpreter: &mut Interpreter) -> Option<InstructionResult> {
    match interpreter.bytecode.action() {
        Some(InterpreterAction::Return(result)) => Some(result.result),
        Some(InterpreterAction::NewFrame(_)) | None => None,
    }
}

/// Returns the refund for a transaction's authorizations before its own call (EIP-7702).
///
/// Each authorization that was applied to an existing authority refunds part of its cost.
fn authorization_refund(context: &mut EvmContext<'_>) -> i64 {
    let signed = context.tx().authorization_list().filter_map(AuthorizationTr::authority);
    let authorities: BTreeSet<Address> = signed.collect();
    let sender = context.tx().caller;
    let mut refund = 0_i64;
    for authority in authorities {
        let Some(now) = context.journal_ref().evm_state().get(&authority).map(|one| one.info.nonce) else {
            continue;
        };
        // A failed read is reported when the account is used.
        let before = context.db_mut().info(authority).ok().flatten().map(|info| info.nonce);
        let own = u64::from(authority == sender);
        let taken = now.saturating_sub(before.unwrap_or(0)).saturating_sub(own);
        let refunded = taken.saturating_sub(u64::from(before.is_none()));
        refund = refund.saturating_add_unsigned(refunded.saturating_mul(AUTHORIZATION_REFUND));
    }
    refund
}

impl<'a> Inspector<EvmContext<'a>> for StructLogRecorder {
    fn step(&mut self, interpreter: &mut Interpreter, _: &mut EvmContext<'a>) {
        self.pending = None;
        // A creation without init code has no instruction, as in geth.
        if self.is_done() || interpreter.bytecode.bytecode_len() == 0 {
            return;
        }
        self.pending = Some(PendingInstruction {
            pc: interpreter.bytecode.pc(),
            gas: interpreter.gas.remaining(),
            step: LastInstruction::new(interpreter),
        });
        if !self.options.no_stack {
            self.stack.clear();
            self.stack.extend_from_slice(interpreter.stack.data());
        }
        if self.options.memory {
            self.memory.clear();
            self.memory.extend_from_slice(&interpreter.memory.context_memory());
        }
        if self.options.return_data {
            self.return_data = interpreter.return_data.buffer().clone();
        }
    }

    fn call(&mut self, context: &mut EvmContext<'a>, _: &mut CallInputs) -> Option<CallOutcome> {
        if self.refunds.is_empty() {
            self.refund = authorization_refund(context);
        }
        self.refunds.push(self.refund);
        None
    }

    fn call_end(&mut self, _: &mut EvmContext<'a>, _: &CallInputs, _: &mut CallOutcome) {
        self.refunds.pop();
    }

    fn create(&mut self, _: &mut EvmContext<'a>, _: &mut CreateInputs) -> Option<CreateOutcome> {
        self.refunds.push(self.refund);
        None
    }

    fn create_end(&mut self, _: &mut EvmContext<'a>, _: &CreateInputs, _: &mut CreateOutcome) {
        self.refunds.pop();
    }
}
