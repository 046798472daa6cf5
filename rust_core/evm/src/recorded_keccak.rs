//! The `KECCAK256` instruction that records hashes of two words.

use alloy_primitives::B256;
use revm::interpreter::{
    InstructionContext, InstructionExecResult, instructions::system, interpreter::EthInterpreter,
    interpreter_types::InputsTr,
};

use crate::{context::EvmContext, costly_instructions::check_costly, slot_prediction::MappingHash};

/// Length in bytes of the key and the position of a mapping entry.
const LENGTH: usize = 64;

/// Runs `KECCAK256` and records the input and the result if the input is a key and a position.
pub(crate) fn keccak256(
    context: InstructionContext<'_, EvmContext<'_>, EthInterpreter>,
) -> InstructionExecResult {
    let mut context = context;
    check_costly(&mut context, 1)?;
    let InstructionContext { interpreter, host } = context;
    let operands = (interpreter.stack.peek(0), interpreter.stack.peek(1));
    system::keccak256(InstructionContext { interpreter: &mut *interpreter, host: &mut *host })?;
    if let (Ok(offset), Ok(length)) = operands
        && length == LENGTH
        && let Ok(offset) = usize::try_from(offset)
        && let Ok(hash) = interpreter.stack.peek(0)
    {
        let (key, position) = {
            let input = interpreter.memory.slice_len(offset, LENGTH);
            (B256::from_slice(&input[..32]), B256::from_slice(&input[32..]))
        };
        let contract = interpreter.input.target_address();
        host.journaled_state.database.record(MappingHash { contract, key, position, hash: hash.into() });
    }
    Ok(())
}
