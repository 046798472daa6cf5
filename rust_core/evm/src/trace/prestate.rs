//! State that a transaction reads or changes: the accounts and slots that geth looks up.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use foreseal_primitives::SpecId;
use revm::{
    Database,
    bytecode::{Bytecode, opcode},
    context::TxEnv,
    context_interface::{ContextTr, JournalTr, Transaction, transaction::AuthorizationTr},
    inspector::Inspector,
    interpreter::{
        InstructionResult, Interpreter,
        interpreter_types::{InputsTr, RuntimeFlag},
    },
    primitives::{KECCAK_EMPTY, TxKind},
    state::{Account as EvmAccount, AccountInfo, EvmState},
};

use super::{error_message::LastInstruction, options::PrestateOptions, struct_log::status};
use crate::{context::EvmContext, execution_state::ExecutionState, interruption::Interruption};

/// Parts of an account; `None` for parts that are not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountState {
    /// Balance in wei.
    pub balance: Option<U256>,
    pub nonce: Option<u64>,
    pub code_hash: Option<B256>,
    pub code: Option<Bytes>,
    pub storage: BTreeMap<U256, U256>,
}

/// Accounts by address.
type Accounts = BTreeMap<Address, AccountState>;

/// Accounts that a transaction reads or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prestate {
    /// All accounts read, in their state before the transaction.
    Pre(Accounts),
    /// Changed accounts. A created account is absent from `pre`, a destroyed one from `post`.
    Diff { pre: Accounts, post: Accounts },
}

/// Records lookups of accounts and slots.
#[derive(Default)]
pub(super) struct PrestateRecorder {
    accounts: BTreeMap<Address, BTreeSet<U256>>,
    created: BTreeSet<Address>,
    deleted: BTreeSet<Address>,
    /// Lookups of the instruction about to be executed.
    staged: Staged,
}

#[derive(Default)]
struct Staged {
    accounts: [Option<Address>; 2],
    slot: Option<(Address, U256)>,
    created: bool,
    deleted: Option<Address>,
}

impl PrestateRecorder {
    /// Looks up the sender, the target, the block's fee recipient and the authorities, before the transaction
    /// executes.
    pub fn begin(
        &mut self,
        transaction: &TxEnv,
        beneficiary: Address,
        fork: SpecId,
        cache: &mut ExecutionState<'_>,
    ) -> Result<(), Interruption> {
        let sender = transaction.caller;
        let target = match transaction.kind {
            TxKind::Call(target) => target,
            TxKind::Create => {
                let created = sender.create(cache.info(sender)?.map_or(0, |info| info.nonce));
                self.created.insert(created);
                created
            }
        };
        if fork.is_enabled_in(SpecId::PRAGUE)
            && transaction.kind.is_call()
            && let Some(delegate) = delegate(&stored_code(cache, target)?)
        {
            self.lookup(delegate);
        }
        for address in [sender, target, beneficiary] {
            self.lookup(address);
        }
        for authority in transaction.authorization_list().filter_map(AuthorizationTr::authority) {
            self.lookup(authority);
        }
        Ok(())
    }

    pub fn lookup(&mut self, address: Address) {
        self.accounts.entry(address).or_default();
    }

    /// Records the lookups of an executed instruction.
    fn record_staged(&mut self) {
        let staged = std::mem::take(&mut self.staged);
        for address in staged.accounts.into_iter().flatten() {
            self.lookup(address);
            if staged.created {
                self.created.insert(address);
            }
        }
        if let Some((address, slot)) = staged.slot {
            self.accounts.entry(address).or_default().insert(slot);
        }
        self.deleted.extend(staged.deleted);
    }

    /// Returns the recorded accounts, in their state before and, for a diff, in the state `after`. The cache
    /// still holds the state before.
    pub fn prestate(
        &self,
        options: PrestateOptions,
        after: &EvmState,
        cache: &mut ExecutionState<'_>,
    ) -> Result<Prestate, Interruption> {
        let (mut pre, mut post) = (Accounts::new(), Accounts::new());
        for (address, slots) in &self.accounts {
            let slots = if options.no_storage { &BTreeSet::new() } else { slots };
            let (existed, mut before) = account_before(cache, *address, slots, options)?;
            let mut shown = existed || options.include_empty;
            if options.diff && !self.deleted.contains(address) {
                let changed = difference(&mut before, after.get(address), options);
                shown &= changed.is_some();
                post.extend(changed.map(|part| (*address, part)));
            }
            if shown {
                pre.insert(*address, before);
            }
        }
        Ok(if options.diff { Prestate::Diff { pre, post } } else { Prestate::Pre(pre) })
    }
}

/// Returns `true` if the account exists in the cache, and its parts.
fn account_before(
    cache: &mut ExecutionState<'_>,
    address: Address,
    slots: &BTreeSet<U256>,
    options: PrestateOptions,
) -> Result<(bool, AccountState), Interruption> {
    let info = cache.info(address)?.cloned().unwrap_or_default();
    let code_hash = Some(info.code_hash).filter(|hash| *hash != KECCAK_EMPTY && !hash.is_zero());
    let code = match code_hash {
        Some(_) if !options.no_code => Some(stored_code(cache, address)?.original_bytes()),
        _ => None,
    };
    let mut storage = BTreeMap::new();
    for slot in slots {
        storage.insert(*slot, cache.storage(address, *slot)?);
    }
    let exists = info.nonce > 0 || code_hash.is_some() || !info.balance.is_zero();
    let part = AccountState {
        balance: Some(info.balance),
        nonce: Some(info.nonce).filter(|nonce| *nonce > 0),
        code_hash,
        code,
        storage,
    };
    Ok((exists, part))
}

/// Returns the parts that differ afterwards; removes unchanged slots from `before`.
fn difference(
    before: &mut AccountState,
    after: Option<&EvmAccount>,
    options: PrestateOptions,
) -> Option<AccountState> {
    let after = after?;
    let info = &after.info;
    let mut part = AccountState {
        balance: Some(info.balance).filter(|balance| Some(*balance) != before.balance),
        nonce: Some(info.nonce).filter(|nonce| *nonce != before.nonce.unwrap_or(0)),
        ..AccountState::default()
    };
    let code_hash = code_hash(info);
    if code_hash != before.code_hash.unwrap_or(KECCAK_EMPTY) {
        part.code_hash = Some(code_hash);
        let code = info.code.as_ref().map(Bytecode::original_bytes).unwrap_or_default();
        part.code = Some(code).filter(|_| !options.no_code);
    }
    let mut changed = part.balance.is_some() || part.nonce.is_some() || part.code_hash.is_some();
    before.storage.retain(|slot, old| {
        let new = after.storage.get(slot).map_or(*old, |slot| slot.present_value);
        if new == *old {
            return false;
        }
        changed = true;
        if !new.is_zero() {
            part.storage.insert(*slot, new);
        }
        !old.is_zero()
    });
    // A nonce of zero is not shown.
    part.nonce = part.nonce.filter(|nonce| *nonce > 0);
    changed.then_some(part)
}

fn code_hash(info: &AccountInfo) -> B256 {
    if info.code_hash.is_zero() { KECCAK_EMPTY } else { info.code_hash }
}

/// Returns the account's code from the cache.
fn stored_code(cache: &mut ExecutionState<'_>, address: Address) -> Result<Bytecode, Interruption> {
    match cache.info(address)?.map(code_hash) {
        Some(hash) => cache.code_by_hash(hash),
        None => Ok(Bytecode::default()),
    }
}

/// Returns the account whose code is executed instead of this one's (EIP-7702).
fn delegate(code: &Bytecode) -> Option<Address> {
    code.eip7702_address()
}

/// Returns the delegate of an account in the current state of the transaction. A failed read is reported when
/// the account is called.
fn live_delegate(context: &mut EvmContext<'_>, address: Address) -> Option<Address> {
    let loaded = context.journal_ref().evm_state().get(&address).map(|account| account.info.code.clone());
    match loaded {
        Some(Some(code)) => delegate(&code),
        Some(None) | None => delegate(&stored_code(context.db_mut(), address).ok()?),
    }
}

fn address(word: U256) -> Address {
    Address::from_word(word.into())
}

impl<'a> Inspector<EvmContext<'a>> for PrestateRecorder {
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut EvmContext<'a>) {
        self.staged = Staged::default();
        let LastInstruction { op, top, .. } = LastInstruction::new(interpreter);
        let depth = interpreter.stack.data().len();
        let caller = interpreter.input.target_address();
        let fork = interpreter.runtime_flag.spec_id();
        let staged = &mut self.staged;
        match op {
            opcode::SLOAD | opcode::SSTORE if depth >= 1 => staged.slot = Some((caller, top[0])),
            opcode::EXTCODECOPY | opcode::EXTCODEHASH | opcode::EXTCODESIZE | opcode::BALANCE
                if depth >= 1 =>
            {
                staged.accounts[0] = Some(address(top[0]));
            }
            opcode::SELFDESTRUCT if depth >= 1 => {
                staged.accounts[0] = Some(address(top[0]));
                // From Cancun on, only contracts created in the same transaction are destroyed (EIP-6780).
                let goes = !fork.is_enabled_in(SpecId::CANCUN) || self.created.contains(&caller);
                staged.deleted = goes.then_some(caller);
            }
            opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL if depth >= 5 => {
                let target = address(top[1]);
                let delegated = fork.is_enabled_in(SpecId::PRAGUE);
                staged.accounts =
                    [Some(target), if delegated { live_delegate(context, target) } else { None }];
            }
            opcode::CREATE => {
                let nonce = context.journal_ref().evm_state().get(&caller).map_or(0, |one| one.info.nonce);
                staged.accounts[0] = Some(caller.create(nonce));
                staged.created = true;
            }
            opcode::CREATE2 if depth >= 4 => {
                staged.accounts[0] = created_2(interpreter, caller, top);
                staged.created = true;
            }
            _ => {}
        }
    }

    fn step_end(&mut self, interpreter: &mut Interpreter, _: &mut EvmContext<'a>) {
        use InstructionResult as R;
        // geth checks gas, stack and writes in static calls before it executes the instruction.
        let was_rejected = matches!(
            status(interpreter),
            Some(
                R::OutOfGas
                    | R::MemoryOOG
                    | R::MemoryLimitOOG
                    | R::InvalidOperandOOG
                    | R::ReentrancySentryOOG
                    | R::StackUnderflow
                    | R::StackOverflow
                    | R::StateChangeDuringStaticCall
                    | R::CallNotAllowedInsideStatic
            )
        );
        if !was_rejected {
            self.record_staged();
        }
    }
}

/// Returns the address that `CREATE2` creates; `None` if its memory is missing or too large to be paid for.
fn created_2(interpreter: &Interpreter, caller: Address, top: [U256; 3]) -> Option<Address> {
    let stack = interpreter.stack.data();
    let salt = stack.get(stack.len().checked_sub(4)?)?;
    let (offset, size) = (usize::try_from(top[1]).ok()?, usize::try_from(top[2]).ok()?);
    let memory = interpreter.memory.context_memory();
    let end = offset.checked_add(size)?;
    let code_hash = if size == 0 {
        KECCAK_EMPTY
    } else if let Some(code) = memory.get(offset..end) {
        keccak256(code)
    } else {
        keccak256(extended(&memory, offset, size)?)
    };
    Some(caller.create2(B256::from(*salt), code_hash))
}

/// Returns a memory range, with zeros beyond the end; `None` if it is too large.
fn extended(memory: &[u8], offset: usize, size: usize) -> Option<Vec<u8>> {
    /// Upper bound in bytes of init code that can be executed (EIP-3860).
    const MAX_CODE_SIZE: usize = 0xc000;
    let mut code = memory.get(offset..).unwrap_or_default().to_vec();
    (size <= MAX_CODE_SIZE).then(|| {
        code.resize(size, 0);
        code
    })
}
