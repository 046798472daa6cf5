//! Logs in emission order, with ether transfers if requested.

use alloy_primitives::{Address, B256, Log, U256, address, b256};
use revm::{
    Inspector,
    bytecode::opcode::SELFDESTRUCT,
    context_interface::ContextTr,
    interpreter::{
        CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, Interpreter,
        interpreter::EthInterpreter,
        interpreter_types::{InputsTr, Jumps},
    },
};

use crate::context::EvmContext;

/// Address that emits a transfer of ether (ERC-7528).
const ETHER: Address = address!("0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");
/// Topic of `Transfer(address,address,uint256)`.
const TRANSFER: B256 = b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// Collects logs by frame, so that the logs of a failed frame can be discarded.
#[derive(Debug, Default)]
pub struct Transfers {
    wanted: bool,
    frames: Vec<Vec<Log>>,
    done: Vec<Log>,
}

impl Transfers {
    /// Creates the inspector, with or without ether transfers.
    pub fn new(wanted: bool) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Returns the logs of the transaction that has just ended.
    pub fn drain_logs(&mut self) -> Vec<Log> {
        self.frames.clear();
        std::mem::take(&mut self.done)
    }

    fn push(&mut self, log: Log) {
        if let Some(frame) = self.frames.last_mut() {
            frame.push(log);
        }
    }

    fn transfer(&mut self, from: Address, to: Address, value: U256) {
        if self.wanted && !value.is_zero() {
            let topics = vec![TRANSFER, from.into_word(), to.into_word()];
            self.push(Log::new_unchecked(ETHER, topics, value.to_be_bytes::<32>().into()));
        }
    }

    fn leave(&mut self, succeeded: bool) {
        let Some(frame) = self.frames.pop().filter(|_| succeeded) else { return };
        self.frames.last_mut().unwrap_or(&mut self.done).extend(frame);
    }
}

impl<'a> Inspector<EvmContext<'a>> for Transfers {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, context: &mut EvmContext<'a>) {
        if !self.wanted || interpreter.bytecode.opcode() != SELFDESTRUCT {
            return;
        }
        let (Some(word), false) = (interpreter.stack.data().last(), interpreter.runtime_flag.is_static)
        else {
            return;
        };
        let (from, to) = (interpreter.input.target_address(), Address::from_word((*word).into()));
        let balance = context.journaled_state.state.get(&from).map(|account| account.info.balance);
        self.transfer(from, to, balance.unwrap_or_default());
    }

    fn log(&mut self, _: &mut EvmContext<'a>, log: Log) {
        self.push(log);
    }

    fn call(&mut self, _: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.frames.push(Vec::new());
        if matches!(inputs.scheme, CallScheme::Call)
            && let Some(value) = inputs.transfer_value()
        {
            self.transfer(inputs.caller, inputs.target_address, value);
        }
        None
    }

    fn call_end(&mut self, _: &mut EvmContext<'a>, _: &CallInputs, outcome: &mut CallOutcome) {
        self.leave(outcome.result.is_ok());
    }

    fn create(&mut self, context: &mut EvmContext<'a>, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.frames.push(Vec::new());
        let journal = context.journal_mut();
        let nonce = journal.state.get(&inputs.caller()).map_or(0, |caller| caller.info.nonce);
        self.transfer(inputs.caller(), inputs.created_address(nonce), inputs.value());
        None
    }

    fn create_end(&mut self, _: &mut EvmContext<'a>, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.leave(outcome.result.is_ok());
    }
}
