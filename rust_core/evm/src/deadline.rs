//! A limit on the time of an execution, kept by the interpreter itself.

use std::time::{Duration, Instant};

use revm::{
    context_interface::context::ContextError,
    interpreter::{
        InstructionContext, InstructionExecResult, InstructionResult, interpreter::EthInterpreter,
    },
};

use crate::{cache::Interruption, machine::MachineContext};

/// Jump destinations between two looks at the clock: some microseconds.
const INTERVAL: u32 = 1024;

/// When an execution must have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    end: Instant,
    limit: Duration,
}

impl Deadline {
    /// `limit` from now.
    pub fn after(limit: Duration) -> Self {
        let now = Instant::now();
        Self { end: now.checked_add(limit).unwrap_or(now), limit }
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
        match self.deadline {
            Some(deadline) if deadline.has_passed() => {
                Err(ContextError::Db(Interruption::TimeLimit(deadline.limit())))
            }
            _ => Ok(()),
        }
    }
}

/// `JUMPDEST` under a deadline.
pub(crate) fn jumpdest(
    InstructionContext { host, .. }: InstructionContext<'_, MachineContext<'_>, EthInterpreter>,
) -> InstructionExecResult {
    let watch = &mut host.chain;
    watch.jumps = watch.jumps.wrapping_add(1);
    if watch.jumps.is_multiple_of(INTERVAL)
        && let Err(error) = watch.look()
    {
        host.error = Err(error);
        return Err(InstructionResult::FatalExternalError);
    }
    Ok(())
}
