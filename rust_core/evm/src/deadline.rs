//! Time limit of an execution, enforced by the interpreter itself.

use std::time::{Duration, Instant};

use foreseal_scheduler::{arrival, checkpoint};
use revm::{
    bytecode::opcode,
    context_interface::context::ContextError,
    interpreter::{
        InstructionContext, InstructionExecResult, InstructionResult,
        instructions::{arithmetic, host, memory, system},
        interpreter::EthInterpreter,
    },
};

use crate::{ExecutionError, cache::Interruption, machine::MachineContext};

/// Maximum memory in bytes of an execution under a strict deadline, all frames together.
pub(crate) const STRICT_MEMORY: u64 = 256 * 1024;
/// Maximum input in bytes of a precompiled contract under a strict deadline.
pub(crate) const STRICT_INPUT: usize = 4096;

/// Work between two checks, in jump destinations; this many take a few microseconds.
const INTERVAL: u32 = 1024;
/// Base work of an instruction whose time grows with its operands, in jump destinations.
const COSTLY: u32 = 64;
/// Number of operand bytes that equal the work of one jump destination.
const BYTES: u64 = 256;
/// Marks an instruction whose operands have at most 32 bytes, without a length on the stack.
const NO_LENGTH: usize = usize::MAX;

/// Time by which an execution must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    end: Instant,
    limit: Duration,
    strict: bool,
}

impl Deadline {
    /// Returns a deadline `limit` after the arrival of the job that the thread runs, or from now if it runs
    /// none.
    pub fn after(limit: Duration) -> Self {
        let arrived = arrival();
        Self { end: arrived.checked_add(limit).unwrap_or(arrived), limit, strict: false }
    }

    /// Returns a strict deadline `limit` after the arrival of the job that the thread runs, or from now. Use
    /// it on a thread that others wait for.
    ///
    /// The clock is read before every operation that may take some time: reads of the state, hashes, copies.
    /// A single long operation ends the execution as if the time limit were exceeded: memory beyond 256 KiB,
    /// precompiled contracts other than the oldest four, or precompile inputs of more than 4 KiB.
    pub fn strict(limit: Duration) -> Self {
        Self { strict: true, ..Self::after(limit) }
    }

    /// Returns `true` if the deadline is strict: no operation may run much beyond it.
    pub fn is_strict(self) -> bool {
        self.strict
    }

    /// Fails if the deadline has passed or the scheduler has cancelled the job. May pause the thread to let
    /// other jobs run.
    pub(crate) fn look(self) -> Result<(), Interruption> {
        if self.has_passed() {
            return Err(self.over());
        }
        if self.strict { Ok(()) } else { checkpoint().map_err(Interruption::from) }
    }

    /// Fails if the deadline has passed or the scheduler has cancelled the job.
    pub fn check(self) -> Result<(), ExecutionError> {
        self.look().map_err(ExecutionError::from)
    }

    fn over(self) -> Interruption {
        Interruption::TimeLimit(self.limit)
    }

    /// Returns the total time limit of the execution.
    pub fn limit(self) -> Duration {
        self.limit
    }

    /// Returns `true` if the deadline has passed.
    pub fn has_passed(self) -> bool {
        Instant::now() >= self.end
    }
}

/// The deadline of a running execution, stored in revm's context.
///
/// It is checked before every frame and at every [`INTERVAL`]th jump destination, sooner if costly
/// instructions run. No code loops without a jump destination.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    deadline: Option<Deadline>,
    /// Work since the last check, in jump destinations.
    work: u32,
}

impl Watch {
    pub fn new(deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), work: 0 }
    }

    /// Fails if the deadline has passed.
    pub fn look(&self) -> Result<(), ContextError<Interruption>> {
        self.deadline.map_or(Ok(()), Deadline::look).map_err(ContextError::Db)
    }

    /// Adds work; returns `true` if a check is due.
    fn add(&mut self, work: u32) -> bool {
        self.work += work;
        let is_due = self.work >= INTERVAL;
        if is_due {
            self.work = 0;
        }
        is_due
    }

    fn is_strict(&self) -> bool {
        self.deadline.is_some_and(Deadline::is_strict)
    }

    /// Fails under a strict deadline, at any time, if the next operation `is_long`.
    pub fn refuse(&self, is_long: impl FnOnce() -> bool) -> Result<(), ContextError<Interruption>> {
        match self.deadline {
            Some(deadline) if deadline.strict && is_long() => Err(ContextError::Db(deadline.over())),
            _ => Ok(()),
        }
    }
}

type Machinery<'a, 'c> = InstructionContext<'a, MachineContext<'c>, EthInterpreter>;
type Run = for<'a, 'c> fn(Machinery<'a, 'c>) -> InstructionExecResult;

/// Checks the deadline; ends the execution if it has passed.
fn look(host: &mut MachineContext<'_>) -> InstructionExecResult {
    host.chain.look().map_err(|error| {
        host.error = Err(error);
        InstructionResult::FatalExternalError
    })
}

/// Checks the deadline before an instruction whose time grows with an operand: every time under a strict
/// deadline.
///
/// `depth` is the stack position of the operand's length.
fn check_costly(context: &mut Machinery<'_, '_>, depth: usize) -> InstructionExecResult {
    // With too few operands the instruction itself fails.
    let length = context.interpreter.stack.peek(depth).map_or(0, |length| length.saturating_to::<u64>());
    let work = u32::try_from(length / BYTES).unwrap_or(INTERVAL).min(INTERVAL) + COSTLY;
    let host = &mut *context.host;
    if host.chain.add(work) || host.chain.is_strict() { look(host) } else { Ok(()) }
}

/// Defines instructions whose time grows with an operand, each behind a deadline check, with the stack
/// position of the operand's length.
macro_rules! looked {
    ($($opcode:ident => $name:ident, $depth:expr, $run:expr;)*) => {
        $(fn $name(mut context: Machinery<'_, '_>) -> InstructionExecResult {
            check_costly(&mut context, $depth)?;
            $run(context)
        })*

        /// Costly instructions of an execution under a deadline.
        pub(crate) const COSTLY_INSTRUCTIONS: &[(u8, Run)] =
            &[$((opcode::$opcode, $name)),*];
    };
}

looked! {
    EXP => exp, NO_LENGTH, arithmetic::exp;
    KECCAK256 => keccak256, 1, system::keccak256;
    CALLDATACOPY => calldatacopy, 2, system::calldatacopy;
    CODECOPY => codecopy, 2, system::codecopy;
    EXTCODECOPY => extcodecopy, 3, host::extcodecopy;
    RETURNDATACOPY => returndatacopy, 2, system::returndatacopy;
    MCOPY => mcopy, 2, memory::mcopy;
    LOG0 => log0, 1, host::log::<0, _>;
    LOG1 => log1, 1, host::log::<1, _>;
    LOG2 => log2, 1, host::log::<2, _>;
    LOG3 => log3, 1, host::log::<3, _>;
    LOG4 => log4, 1, host::log::<4, _>;
}

/// `JUMPDEST` under a deadline.
pub(crate) fn jumpdest(InstructionContext { host, .. }: Machinery<'_, '_>) -> InstructionExecResult {
    if host.chain.add(1) { look(host) } else { Ok(()) }
}
