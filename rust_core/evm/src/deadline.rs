//! A limit on the time of an execution, kept by the interpreter itself.

use std::time::{Duration, Instant};

use revm::{
    bytecode::opcode,
    context_interface::context::ContextError,
    interpreter::{
        InstructionContext, InstructionExecResult, InstructionResult,
        instructions::{arithmetic, host, memory, system},
        interpreter::EthInterpreter,
    },
};

use crate::{cache::Interruption, machine::MachineContext};

/// Bytes of memory that an execution under a strict deadline may have, all frames together.
pub(crate) const STRICT_MEMORY: u64 = 256 * 1024;
/// Bytes of input that a precompiled contract may have there.
pub(crate) const STRICT_INPUT: usize = 4096;

/// Jump destinations between two looks at the clock: some microseconds.
const INTERVAL: u32 = 1024;

/// When an execution must have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    end: Instant,
    limit: Duration,
    strict: bool,
}

impl Deadline {
    /// `limit` from now.
    pub fn after(limit: Duration) -> Self {
        let now = Instant::now();
        Self { end: now.checked_add(limit).unwrap_or(now), limit, strict: false }
    }

    /// `limit` from now, for a thread that others wait for. The clock is looked at before everything that may take some
    /// time: reads of the state, hashes, copies. Whatever takes long at once ends the execution as if the time were
    /// over: memory beyond 256 KiB, precompiled contracts other than the oldest four or with more than 4 KiB.
    pub fn strict(limit: Duration) -> Self {
        Self { strict: true, ..Self::after(limit) }
    }

    /// Whether nothing may run on for long after it.
    pub fn is_strict(self) -> bool {
        self.strict
    }

    /// Fails once it has passed.
    pub(crate) fn look(self) -> Result<(), Interruption> {
        if self.has_passed() { Err(self.over()) } else { Ok(()) }
    }

    fn over(self) -> Interruption {
        Interruption::TimeLimit(self.limit)
    }

    /// The time that the execution was given in all.
    pub fn limit(self) -> Duration {
        self.limit
    }

    /// Whether it is over.
    pub fn has_passed(self) -> bool {
        Instant::now() >= self.end
    }
}

/// The deadline of a running execution, beside revm's own context. Looked at before every frame and at every
/// [`INTERVAL`]th jump destination: no code loops without one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch {
    deadline: Option<Deadline>,
    jumps: u32,
}

impl Watch {
    pub fn new(deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), jumps: 0 }
    }

    /// Fails once the deadline has passed.
    pub fn look(&self) -> Result<(), ContextError<Interruption>> {
        self.deadline.map_or(Ok(()), Deadline::look).map_err(ContextError::Db)
    }

    /// Fails under a strict deadline, whatever the time, if what comes `is_long`.
    pub fn refuse(&self, is_long: impl FnOnce() -> bool) -> Result<(), ContextError<Interruption>> {
        match self.deadline {
            Some(deadline) if deadline.strict && is_long() => Err(ContextError::Db(deadline.over())),
            _ => Ok(()),
        }
    }
}

type Machinery<'a, 'c> = InstructionContext<'a, MachineContext<'c>, EthInterpreter>;
type Run = for<'a, 'c> fn(Machinery<'a, 'c>) -> InstructionExecResult;

/// Looks at the clock; ends the execution once the deadline has passed.
fn look(host: &mut MachineContext<'_>) -> InstructionExecResult {
    host.chain.look().map_err(|error| {
        host.error = Err(error);
        InstructionResult::FatalExternalError
    })
}

/// Instructions whose time grows with their operands, each with a look at the clock before it.
macro_rules! looked {
    ($($opcode:ident => $name:ident, $run:expr;)*) => {
        $(fn $name(context: Machinery<'_, '_>) -> InstructionExecResult {
            look(context.host)?;
            $run(context)
        })*

        /// Those of an execution under a strict deadline.
        pub(crate) const STRICT: &[(u8, Run)] =
            &[$((opcode::$opcode, $name)),*];
    };
}

looked! {
    EXP => exp, arithmetic::exp;
    KECCAK256 => keccak256, system::keccak256;
    CALLDATACOPY => calldatacopy, system::calldatacopy;
    CODECOPY => codecopy, system::codecopy;
    EXTCODECOPY => extcodecopy, host::extcodecopy;
    RETURNDATACOPY => returndatacopy, system::returndatacopy;
    MCOPY => mcopy, memory::mcopy;
    LOG0 => log0, host::log::<0, _>;
    LOG1 => log1, host::log::<1, _>;
    LOG2 => log2, host::log::<2, _>;
    LOG3 => log3, host::log::<3, _>;
    LOG4 => log4, host::log::<4, _>;
}

/// `JUMPDEST` under a deadline.
pub(crate) fn jumpdest(InstructionContext { host, .. }: Machinery<'_, '_>) -> InstructionExecResult {
    let watch = &mut host.chain;
    watch.jumps = watch.jumps.wrapping_add(1);
    if watch.jumps.is_multiple_of(INTERVAL) { look(host) } else { Ok(()) }
}
