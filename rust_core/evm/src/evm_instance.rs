//! The revm `Evm` of an execution.
//!
//! The wrapper adds one rule that revm omits: a contract is not created at an address with storage
//! (EIP-7610).

use std::time::Duration;

use alloy_primitives::{Address, Bytes};
use foreseal_primitives::SpecId;
use revm::{
    Context,
    bytecode::opcode::{JUMPDEST, KECCAK256, SSTORE},
    context::{BlockEnv, CfgEnv, ContextSetters, ContextTr, Evm, FrameStack, JournalTr, TxEnv},
    context_interface::{context::ContextError, result::ExecutionResult},
    handler::{
        EvmTr, FrameInitOrResult, FrameResult, FrameTr, Handler, ItemOrResult, MainnetHandler, SystemCallTx,
        evm::FrameInitResult, instructions::EthInstructions,
    },
    inspector::{Inspector, InspectorEvmTr, InspectorHandler},
    interpreter::{
        Instruction, InstructionResult,
        interpreter::EthInterpreter,
        interpreter_action::{CreateInputs, FrameInit, FrameInput},
    },
    primitives::KECCAK_EMPTY,
    state::{AccountInfo, EvmState},
};

use crate::{
    context::{EvmContext, EvmError, Frame},
    costly_instructions::{COSTLY_INSTRUCTIONS, jumpdest},
    deadline::{Deadline, STRICT_MEMORY},
    deadline_check::DeadlineCheck,
    execution_state::ExecutionState,
    interruption::Interruption,
    net_sstore,
    optimism::{OptimismHandler, Surcharge},
    precompiles::{MovedPrecompiles, PrecompileRules, Precompiles},
    recorded_keccak,
    slot_prediction::MappingHash,
};

type Instructions<'a> = EthInstructions<EthInterpreter, EvmContext<'a>>;
type Inner<'a, I> = Evm<EvmContext<'a>, I, Instructions<'a>, Precompiles, Frame>;
type EvmHandler<'a, I> = MainnetHandler<EvmInstance<'a, I>, EvmError, Frame>;

/// Maximum capacity, in accounts, that is reused for the next transaction.
const RETAINED_CAPACITY: usize = 128;

/// A revm `Evm` over a [`ExecutionState`], with an inspector for inspected executions.
pub(crate) struct EvmInstance<'a, I = ()> {
    evm: Inner<'a, I>,
    /// Additions of an OP chain to the next transaction; `None` if it has none.
    surcharge: Option<Surcharge>,
    /// Calls and creations of the last simulation that failed.
    failed_calls: u64,
}

impl<'a, I> EvmInstance<'a, I> {
    pub fn with_inspector(
        cache: ExecutionState<'a>,
        rules: CfgEnv,
        block: BlockEnv,
        precompiles: PrecompileRules,
        inspector: I,
    ) -> Self {
        let fork = rules.spec;
        let context: EvmContext<'a> = Context::new(cache, fork);
        let mut instruction = EthInstructions::new_mainnet_with_spec(fork);
        if net_sstore::is_applied(&rules) {
            let gas = instruction.gas_table()[usize::from(SSTORE)];
            instruction.insert_instruction(SSTORE, Instruction::new(net_sstore::sstore), gas);
        }
        let evm = Evm {
            ctx: context.with_block(block).with_cfg(rules),
            inspector,
            instruction,
            precompiles: Precompiles::new(precompiles),
            // Frames are allocated on first use: most calls need one.
            frame_stack: FrameStack::new(),
        };
        Self { evm, surcharge: None, failed_calls: 0 }
    }

    /// Moves precompiled contracts to other addresses.
    pub fn move_precompiles(&mut self, moved: MovedPrecompiles) {
        self.evm.precompiles.set_moved(moved);
    }

    /// Ends every later execution with [`Interruption::TimeLimit`] once the deadline has passed.
    pub fn set_deadline(&mut self, deadline: Deadline) {
        self.evm.ctx.chain = DeadlineCheck::new(deadline);
        self.install_deadline_checks();
        if deadline.is_strict() {
            self.evm.ctx.cfg.memory_limit = STRICT_MEMORY;
            self.execution_state().set_deadline(deadline);
        }
    }

    /// Ends only the next execution with [`Interruption::TimeLimit`] once it has run this long; `None` for no limit.
    /// Requires [`Self::install_deadline_checks`].
    pub fn set_transaction_time(&mut self, limit: Option<Duration>) {
        let check = limit.map(|limit| DeadlineCheck::new(Deadline::for_transaction(limit)));
        self.evm.ctx.chain = check.unwrap_or_default();
    }

    /// Replaces the instructions that loop or whose time grows with an operand by ones that check the deadline.
    pub fn install_deadline_checks(&mut self) {
        let gas = self.evm.instruction.gas_table()[usize::from(JUMPDEST)];
        self.evm.instruction.insert_instruction(JUMPDEST, Instruction::new(jumpdest), gas);
        for (opcode, run) in COSTLY_INSTRUCTIONS {
            let gas = self.evm.instruction.gas_table()[usize::from(*opcode)];
            self.evm.instruction.insert_instruction(*opcode, Instruction::new(*run), gas);
        }
    }

    /// Executes a transaction like [`Self::transact`], and returns its hashes of mapping entries as well.
    pub fn transact_recorded(
        &mut self,
        transaction: TxEnv,
        allowed: impl FnOnce(&ExecutionResult) -> bool,
    ) -> (Result<Option<ExecutionResult>, EvmError>, Vec<MappingHash>) {
        let original = self.evm.instruction.instruction_table()[usize::from(KECCAK256)];
        self.set_keccak(Instruction::new(recorded_keccak::keccak256));
        self.execution_state().set_recording(true);
        let result = self.transact(transaction, allowed);
        self.set_keccak(original);
        (result, self.execution_state().set_recording(false))
    }

    fn set_keccak(&mut self, instruction: Instruction<EthInterpreter, EvmContext<'a>>) {
        let gas = self.evm.instruction.gas_table()[usize::from(KECCAK256)];
        self.evm.instruction.insert_instruction(KECCAK256, instruction, gas);
    }

    /// Requires transactions to offer the base fee if `required` is set; otherwise they pay nothing for gas.
    pub fn require_base_fee(&mut self, required: bool) {
        self.evm.ctx.cfg.disable_base_fee = !required;
    }

    /// Sets the price of blobs (wei per blob gas), on forks that have blobs.
    pub fn set_blob_price(&mut self, price: u128) {
        if let Some(blob) = &mut self.evm.ctx.block.blob_excess_gas_and_price {
            blob.blob_gasprice = price;
        }
    }

    pub fn execution_state(&mut self) -> &mut ExecutionState<'a> {
        &mut self.evm.ctx.journaled_state.database
    }

    pub fn fork(&self) -> SpecId {
        self.evm.ctx.cfg.spec
    }

    /// Returns the fee recipient of the block.
    pub fn beneficiary(&self) -> Address {
        self.evm.ctx.block.beneficiary
    }

    /// Allows accounts with code to send transactions, contrary to EIP-3607, if `allowed` is set.
    pub fn set_disable_eip3607(&mut self, allowed: bool) {
        self.evm.ctx.cfg.disable_eip3607 = allowed;
    }

    /// Sets the additions of an OP chain to the next transactions.
    pub fn set_surcharge(&mut self, surcharge: Option<Surcharge>) {
        self.surcharge = surcharge;
    }

    /// Returns the additions of an OP chain to the next transactions.
    pub fn surcharge(&self) -> Option<Surcharge> {
        self.surcharge
    }

    /// Returns the number of calls and creations that failed in the last simulation, nested ones included.
    pub fn failed_calls(&self) -> u64 {
        self.failed_calls
    }

    /// Runs a transaction and discards its changes.
    pub fn simulate(&mut self, transaction: TxEnv) -> Result<ExecutionResult, EvmError> {
        self.failed_calls = 0;
        let result = self.run(transaction);
        self.evm.ctx.journal_mut().finalize();
        result
    }

    /// Runs a transaction and applies its changes to the cache. Discards them and returns `None` if the
    /// result is not `allowed`.
    pub fn transact(
        &mut self,
        transaction: TxEnv,
        allowed: impl FnOnce(&ExecutionResult) -> bool,
    ) -> Result<Option<ExecutionResult>, EvmError> {
        match self.run(transaction) {
            Ok(result) if !allowed(&result) => {
                self.evm.ctx.journal_mut().finalize();
                Ok(None)
            }
            result => self.commit(result).map(Some),
        }
    }

    /// Makes a system call to a contract, without sender, fee or gas accounting, and applies its changes.
    pub fn system_call(&mut self, contract: Address, input: Bytes) -> Result<ExecutionResult, EvmError> {
        self.evm.ctx.set_tx(TxEnv::new_system_tx(contract, input));
        let result = EvmHandler::default().run_system_call(self);
        self.commit(result)
    }

    fn run(&mut self, transaction: TxEnv) -> Result<ExecutionResult, EvmError> {
        self.evm.ctx.set_tx(transaction);
        match self.surcharge {
            None => EvmHandler::default().run(self),
            Some(surcharge) => OptimismHandler::new(surcharge).run(self),
        }
    }

    /// Moves the journal's changes to the cache. The journal holds loaded accounts even after an error.
    fn commit(&mut self, result: Result<ExecutionResult, EvmError>) -> Result<ExecutionResult, EvmError> {
        let mut changes = self.evm.ctx.journal_mut().finalize();
        let journal = &mut self.evm.ctx.journaled_state;
        if result.is_ok() {
            journal.database.commit_all(changes.drain());
        }
        changes.clear();
        // The next transaction reuses the allocation, unless it is so large that clearing it would cost more.
        if changes.capacity() <= RETAINED_CAPACITY {
            journal.inner.state = changes;
        }
        result
    }

    /// Returns the address of the contract to be created, if only its storage prevents the creation.
    fn storage_collision(&mut self, inputs: &CreateInputs) -> Result<Option<Address>, Interruption> {
        let journal = &mut self.evm.ctx.journaled_state;
        let Some(nonce) = journal.state.get(&inputs.caller()).map(|caller| caller.info.nonce) else {
            return Ok(None);
        };
        let address = inputs.created_address(nonce);
        let blank = |info: &AccountInfo| info.nonce == 0 && info.code_hash == KECCAK_EMPTY;
        let in_journal = journal.state.get(&address).map(|account| blank(&account.info));
        let cache = &mut journal.database;
        let candidate = match in_journal {
            Some(blank) => blank,
            None => cache.info(address)?.is_some_and(blank),
        };
        Ok(if candidate && cache.has_storage(address)? { Some(address) } else { None })
    }

    /// Marks an account as used or unused, for creations only.
    fn set_collision(&mut self, address: Address, used: bool) {
        let journal = &mut self.evm.ctx.journaled_state;
        journal.database.set_simulated_collision(used.then_some(address));
        if let Some(account) = journal.state.get_mut(&address) {
            account.info.nonce = u64::from(used);
        }
    }
}

impl<'a, I: Inspector<EvmContext<'a>>> EvmInstance<'a, I> {
    /// Runs a transaction under the inspector and returns its changes with the result.
    ///
    /// The cache stays in the state before the transaction until the changes are
    /// [applied](ExecutionState::commit_all).
    pub fn inspect(&mut self, transaction: TxEnv) -> Result<(ExecutionResult, EvmState), EvmError> {
        self.evm.ctx.set_tx(transaction);
        let result = match self.surcharge {
            None => EvmHandler::default().inspect_run(self),
            Some(surcharge) => OptimismHandler::new(surcharge).inspect_run(self),
        };
        let changes = self.evm.ctx.journal_mut().finalize();
        Ok((result?, changes))
    }

    /// Returns the inspector and the cache.
    pub fn inspector(&mut self) -> (&mut I, &mut ExecutionState<'a>) {
        (&mut self.evm.inspector, &mut self.evm.ctx.journaled_state.database)
    }
}

impl<'a, I> EvmTr for EvmInstance<'a, I> {
    type Context = <Inner<'a, I> as EvmTr>::Context;
    type Instructions = <Inner<'a, I> as EvmTr>::Instructions;
    type Precompiles = <Inner<'a, I> as EvmTr>::Precompiles;
    type Frame = Frame;

    fn all(&self) -> (&Self::Context, &Self::Instructions, &Self::Precompiles, &FrameStack<Frame>) {
        self.evm.all()
    }

    fn all_mut(
        &mut self,
    ) -> (&mut Self::Context, &mut Self::Instructions, &mut Self::Precompiles, &mut FrameStack<Frame>) {
        self.evm.all_mut()
    }

    fn frame_init(
        &mut self,
        input: FrameInit,
    ) -> Result<FrameInitResult<'_, Frame>, ContextError<Interruption>> {
        let watch = &self.evm.ctx.chain;
        watch.check_deadline()?;
        watch.check_long_operation(|| match &input.frame_input {
            FrameInput::Call(inputs) => self.evm.precompiles.is_long(inputs),
            FrameInput::Create(_) | FrameInput::Empty => false,
        })?;
        let _operation = watch.begin_operation(|| match &input.frame_input {
            FrameInput::Call(inputs) => self.evm.precompiles.time(&self.evm.ctx, inputs),
            FrameInput::Create(_) | FrameInput::Empty => Duration::ZERO,
        })?;
        let collision = match &input.frame_input {
            FrameInput::Create(inputs) => self.storage_collision(inputs).map_err(ContextError::Db)?,
            FrameInput::Call(_) | FrameInput::Empty => None,
        };
        let Some(address) = collision else { return self.evm.frame_init(input) };
        // revm rejects a creation at an account with a nonce, so the account temporarily has one.
        self.set_collision(address, true);
        let result = match self.evm.frame_init(input) {
            Ok(ItemOrResult::Result(result)) => Ok(ItemOrResult::Result(result)),
            Ok(ItemOrResult::Item(_)) => {
                Err(ContextError::Custom("a contract was created over a used account".to_owned()))
            }
            Err(error) => Err(error),
        };
        self.set_collision(address, false);
        result
    }

    fn frame_run(&mut self) -> Result<FrameInitOrResult<Frame>, ContextError<Interruption>> {
        let next = self.evm.frame_run()?;
        if let ItemOrResult::Result(result) = &next {
            let result = result.interpreter_result().result;
            self.evm.ctx.chain.check_long_operation(|| result == InstructionResult::MemoryLimitOOG)?;
        }
        Ok(next)
    }

    fn frame_return_result(
        &mut self,
        result: <Frame as FrameTr>::FrameResult,
    ) -> Result<Option<FrameResult>, ContextError<Interruption>> {
        self.failed_calls += u64::from(!result.interpreter_result().result.is_ok());
        let last = self.evm.frame_return_result(result)?;
        if last.is_some() {
            self.evm.ctx.journaled_state.database.end_frames();
        }
        Ok(last)
    }
}

impl<'a, I: Inspector<EvmContext<'a>>> InspectorEvmTr for EvmInstance<'a, I> {
    type Inspector = I;

    fn all_inspector(
        &self,
    ) -> (&Self::Context, &Self::Instructions, &Self::Precompiles, &FrameStack<Frame>, &I) {
        self.evm.all_inspector()
    }

    fn all_mut_inspector(
        &mut self,
    ) -> (&mut Self::Context, &mut Self::Instructions, &mut Self::Precompiles, &mut FrameStack<Frame>, &mut I)
    {
        self.evm.all_mut_inspector()
    }
}

impl<'a, I: Inspector<EvmContext<'a>>> InspectorHandler for OptimismHandler<'a, EvmInstance<'a, I>> {
    type IT = EthInterpreter;
}
