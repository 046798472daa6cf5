//! Instructions that check the deadline before they run.

use revm::{
    bytecode::opcode,
    interpreter::{
        InstructionContext, InstructionExecResult, InstructionResult,
        instructions::{arithmetic, host, memory, system},
        interpreter::EthInterpreter,
    },
};

use crate::{context::EvmContext, deadline_check::INTERVAL};

/// Base work of an instruction whose time grows with its operands, in jump destinations.
const COSTLY: u32 = 64;
/// Number of operand bytes that equal the work of one jump destination.
const BYTES: u64 = 256;
/// Marks an instruction whose operands have at most 32 bytes, without a length on the stack.
const NO_LENGTH: usize = usize::MAX;

type InstructionInput<'a, 'c> = InstructionContext<'a, EvmContext<'c>, EthInterpreter>;
type InstructionFn = for<'a, 'c> fn(InstructionInput<'a, 'c>) -> InstructionExecResult;

/// Checks the deadline; ends the execution if it has passed.
fn check_deadline(host: &mut EvmContext<'_>) -> InstructionExecResult {
    host.chain.check_deadline().map_err(|error| {
        host.error = Err(error);
        InstructionResult::FatalExternalError
    })
}

/// Checks the deadline before an instruction whose time grows with an operand: every time under a strict
/// deadline.
///
/// `depth` is the stack position of the operand's length.
pub(crate) fn check_costly(context: &mut InstructionInput<'_, '_>, depth: usize) -> InstructionExecResult {
    // With too few operands the instruction itself fails.
    let length = context.interpreter.stack.peek(depth).map_or(0, |length| length.saturating_to::<u64>());
    let work = u32::try_from(length / BYTES).unwrap_or(INTERVAL).min(INTERVAL) + COSTLY;
    let host = &mut *context.host;
    if host.chain.add(work) || host.chain.is_strict() { check_deadline(host) } else { Ok(()) }
}

/// Defines instructions whose time grows with an operand, each behind a deadline check, with the stack
/// position of the operand's length.
macro_rules! looked {
    ($($opcode:ident => $name:ident, $depth:expr, $run:expr;)*) => {
        $(fn $name(mut context: InstructionInput<'_, '_>) -> InstructionExecResult {
            check_costly(&mut context, $depth)?;
            $run(context)
        })*

        /// Costly instructions of an execution under a deadline.
        pub(crate) const COSTLY_INSTRUCTIONS: &[(u8, InstructionFn)] =
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
pub(crate) fn jumpdest(InstructionContext { host, .. }: InstructionInput<'_, '_>) -> InstructionExecResult {
    if host.chain.add(1) { check_deadline(host) } else { Ok(()) }
}
