//! Geth's wording for the failure of a frame.

use std::borrow::Cow;

use alloy_primitives::U256;
use revm::{
    bytecode::opcode::{self, OpCode},
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

/// Returns geth's error message for a frame, or for its last instruction, that ended with `status`; `None` if
/// it did not fail.
pub fn error_message(
    status: InstructionResult,
    last: Option<&LastInstruction>,
    output: usize,
) -> Option<String> {
    use InstructionResult as R;
    let op = last.map_or(opcode::STOP, |step| step.op);
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
        R::OpcodeNotFound | R::NotActivated => return Some(format!("invalid opcode: {}", op_name(op))),
        R::StackUnderflow => return Some(underflow(op, last)),
        R::StackOverflow => return Some(format!("stack limit reached {STACK_LIMIT} ({})", STACK_LIMIT - 1)),
        R::CreateContractSizeLimit => {
            return Some(format!("max code size exceeded: code size {output} limit {MAX_CODE_SIZE}"));
        }
        R::CreateInitCodeSizeLimit => return Some(init_code(last)),
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

fn underflow(op: u8, last: Option<&LastInstruction>) -> String {
    let needed = OpCode::new(op).map_or(0, |known| known.inputs());
    format!("stack underflow ({} <=> {needed})", last.map_or(0, |step| step.depth))
}

/// Returns the message for a creating instruction: value, offset and size are on top of the stack.
fn init_code(last: Option<&LastInstruction>) -> String {
    let size = last.map_or(U256::ZERO, |step| step.top[2]);
    let limit = 2 * MAX_CODE_SIZE;
    format!("out of gas: max initcode size exceeded: code size {size} limit {limit}")
}
