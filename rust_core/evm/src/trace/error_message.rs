//! Geth's wording for the failure of a frame, or of a whole call.

use std::borrow::Cow;

use alloy_primitives::U256;
use revm::{
    bytecode::opcode::OpCode,
    context_interface::result::HaltReason,
    interpreter::{InstructionResult, Interpreter, interpreter_types::Jumps},
};

/// Maximum code size of a contract in bytes (EIP-170).
const MAX_CODE_SIZE: usize = 0x6000;
/// Maximum number of items on the stack.
const STACK_LIMIT: usize = 1024;

/// The last instruction that a frame executed, with the stack before it.
#[derive(Clone, Copy, Debug)]
pub struct LastInstruction {
    pub op: u8,
    /// Number of items on the stack.
    depth: usize,
    /// The upper three items, the top one first; zero for missing ones.
    pub top: [U256; 3],
    /// `true` if the instruction ended the frame successfully.
    pub succeeded: bool,
}

impl LastInstruction {
    /// Records the instruction about to be executed.
    pub fn new(interpreter: &Interpreter) -> Self {
        let stack = interpreter.stack.data();
        let at = |back: usize| stack.len().checked_sub(back).map_or(U256::ZERO, |index| stack[index]);
        Self {
            op: interpreter.bytecode.opcode(),
            depth: stack.len(),
            top: [at(1), at(2), at(3)],
            succeeded: false,
        }
    }
}

/// Returns the name of an instruction.
pub fn op_name(op: u8) -> Cow<'static, str> {
    match OpCode::new(op) {
        Some(known) => known.as_str().into(),
        None => format!("opcode {op:#x} not defined").into(),
    }
}

/// Returns geth's error message for a call that halted without a revert. Figures of its last instruction are unknown.
pub fn halt_message(reason: &HaltReason) -> String {
    match reason {
        // Geth continues some of them with an inner cause.
        HaltReason::OutOfGas(_) => "out of gas".to_owned(),
        // Geth has the words of each cryptographic library here.
        HaltReason::PrecompileErrorWithContext(_) => format!("execution halted: {reason}"),
        _ => error_message(reason.clone().into(), None, 0).unwrap_or_else(|| reason.to_string()),
    }
}

/// Returns geth's error message for a frame, or for its last instruction, that ended with `status`; `None` if
/// it did not fail. Without `last`, the message has no figures of that instruction.
pub fn error_message(
    status: InstructionResult,
    last: Option<&LastInstruction>,
    output: usize,
) -> Option<String> {
    use InstructionResult as R;
    let words = match status {
        R::Stop | R::Return | R::SelfDestruct => return None,
        R::Revert => "execution reverted",
        R::CallTooDeep => "max call depth exceeded",
        R::OutOfFunds | R::OverflowPayment => "insufficient balance for transfer",
        R::NonceOverflow => "nonce uint64 overflow",
        R::CreateCollision => "contract address collision",
        R::CreateContractStartingWithEF => "invalid code: must not begin with 0xef",
        // The creation could not pay for the returned code; its last instruction had succeeded.
        R::OutOfGas if last.is_some_and(|step| step.succeeded) => "contract creation code storage out of gas",
        R::OutOfGas | R::MemoryOOG | R::MemoryLimitOOG | R::PrecompileOOG => "out of gas",
        R::InvalidOperandOOG => "gas uint64 overflow",
        R::ReentrancySentryOOG => "out of gas: not enough gas for reentrancy sentry",
        R::CallNotAllowedInsideStatic | R::StateChangeDuringStaticCall => "write protection",
        R::InvalidJump => "invalid jump destination",
        R::OutOfOffset => "return data out of bounds",
        R::PrecompileError => "precompiled failed",
        R::InvalidFEOpcode => "invalid opcode: INVALID",
        R::OpcodeNotFound | R::NotActivated => {
            return Some(detailed("invalid opcode:", last, |step| op_name(step.op).into_owned()));
        }
        R::StackUnderflow => return Some(detailed("stack underflow", last, underflow)),
        R::StackOverflow => return Some(format!("stack limit reached {STACK_LIMIT} ({})", STACK_LIMIT - 1)),
        R::CreateContractSizeLimit => {
            let sizes = |_: &LastInstruction| format!("code size {output} limit {MAX_CODE_SIZE}");
            return Some(detailed("max code size exceeded:", last, sizes));
        }
        R::CreateInitCodeSizeLimit => {
            return Some(detailed("out of gas: max initcode size exceeded:", last, init_code));
        }
        // Rules of no supported fork, or never the end of a frame: geth has no wording for them.
        R::Suspend
        | R::CreateInitCodeStartingEF00
        | R::InvalidEOFInitCode
        | R::InvalidExtDelegateCallTarget
        | R::InvalidImmediateEncoding
        | R::FatalExternalError => return Some(format!("{status:?}")),
    };
    Some(words.to_owned())
}

/// Returns the words with what `figures` says of the last instruction; without it, the words alone.
fn detailed(
    words: &str,
    last: Option<&LastInstruction>,
    figures: impl FnOnce(&LastInstruction) -> String,
) -> String {
    match last {
        Some(step) => format!("{words} {}", figures(step)),
        None => words.trim_end_matches(':').to_owned(),
    }
}

fn underflow(step: &LastInstruction) -> String {
    let needed = OpCode::new(step.op).map_or(0, |known| known.inputs());
    format!("({} <=> {needed})", step.depth)
}

/// Returns the sizes for a creating instruction: value, offset and size are on top of the stack.
fn init_code(step: &LastInstruction) -> String {
    format!("code size {} limit {}", step.top[2], 2 * MAX_CODE_SIZE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halts_have_the_words_that_libraries_search() {
        let undefined = [HaltReason::InvalidFEOpcode, HaltReason::OpcodeNotFound, HaltReason::NotActivated];
        for reason in undefined {
            assert!(halt_message(&reason).starts_with("invalid opcode"), "{reason}");
        }
        assert_eq!(halt_message(&HaltReason::StateChangeDuringStaticCall), "write protection");
        let precompile = HaltReason::PrecompileErrorWithContext("wrong length".to_owned());
        assert_eq!(halt_message(&precompile), "execution halted: precompile error: wrong length");
    }
}
