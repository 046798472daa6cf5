//! Prefetched slots: results are those without prefetching, and predicted slots are read in batches.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use alloy_primitives::{Address, B256, TxKind, U256, hex, keccak256};
use foreseal_evm::{BlockGas, Executor};
use foreseal_primitives::{Account, Receipt, StateDiff, Transaction};
use foreseal_state::{StateError, StateReader, StorageReader};
use foreseal_testkit::{Contract, assemble, erc20_balance_slot, erc20_transfer};
use proptest::prelude::*;
use revm::bytecode::Bytecode;

use crate::memory::{MemoryState, dev_spec, header, sign, transaction};

/// Contract with a nested mapping at slot 1: adds one to the entry of the sender and the first argument.
const NESTED: Address = Address::repeat_byte(0x4e);
const NESTED_CODE: &str = "CALLER PUSH0 MSTORE 0x01 0x20 MSTORE 0x40 PUSH0 KECCAK256 0x20 MSTORE
    0x04 CALLDATALOAD PUSH0 MSTORE 0x40 PUSH0 KECCAK256 DUP1 SLOAD 0x01 ADD SWAP1 SSTORE STOP";

/// A state that counts the reads of slots.
#[derive(Default)]
struct CountingState {
    inner: MemoryState,
    single: AtomicUsize,
    batches: Mutex<Vec<Vec<U256>>>,
}

struct CountingStorage<'a>(&'a CountingState, Address);

impl StateReader for CountingState {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.inner.account(address)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.inner.storage(address, slot)
    }

    fn account_storage(&self, address: &Address) -> Result<Box<dyn StorageReader + '_>, StateError> {
        Ok(Box::new(CountingStorage(self, *address)))
    }

    fn has_storage(&self, address: &Address) -> Result<bool, StateError> {
        self.inner.has_storage(address)
    }

    fn code(&self, hash: &B256) -> Result<Bytecode, StateError> {
        self.inner.code(hash)
    }
}

impl StorageReader for CountingStorage<'_> {
    fn slot(&self, slot: &U256) -> Result<U256, StateError> {
        self.0.single.fetch_add(1, Ordering::Relaxed);
        self.0.storage(&self.1, slot)
    }

    fn slots(&self, slots: &[U256]) -> Result<Vec<U256>, StateError> {
        self.0.batches.lock().unwrap().push(slots.to_vec());
        slots.iter().map(|slot| self.0.storage(&self.1, slot)).collect()
    }
}

fn person(index: u8) -> Address {
    Address::repeat_byte(0x10 + index)
}

fn state() -> CountingState {
    let mut inner = MemoryState::funded();
    inner.deploy(Contract::Erc20.address(), Contract::Erc20.code());
    inner.deploy(NESTED, assemble(NESTED_CODE));
    let rich = Account { balance: U256::from(10).pow(U256::from(20)), ..Account::default() };
    for person in (0..32).map(person) {
        inner.accounts.insert(person, rich);
        let slot = erc20_balance_slot(person).into();
        inner.storage.insert((Contract::Erc20.address(), slot), U256::from(100));
    }
    CountingState { inner, ..CountingState::default() }
}

fn token_transfer(from: Address, nonce: u64, to: Address, amount: u64) -> Transaction {
    let input = erc20_transfer(to, U256::from(amount));
    sign(transaction(nonce, TxKind::Call(Contract::Erc20.address()), 0, input), from)
}

fn nested_call(from: Address, nonce: u64, argument: Address) -> Transaction {
    let input = [hex!("01020304").as_slice(), argument.into_word().as_slice()].concat();
    sign(transaction(nonce, TxKind::Call(NESTED), 0, input), from)
}

fn execute(
    state: &CountingState,
    transactions: &[Transaction],
    prefetches: bool,
) -> (Vec<Receipt>, StateDiff) {
    let (spec, header) = (dev_spec(), header());
    let mut executor = Executor::new(&spec, state, &state.inner, &header);
    let (mut gas, mut receipts) = (BlockGas::default(), Vec::new());
    for (index, transaction) in transactions.iter().enumerate() {
        if let Some(count) = executor.lookahead().filter(|_| prefetches) {
            executor.prefetch(transactions[index..].iter().take(count)).unwrap();
        }
        receipts.push(executor.transact(transaction, &mut gas).unwrap());
    }
    (receipts, executor.drain_diff())
}

#[test]
fn slots_of_known_methods_are_read_in_batches() {
    let transfers: Vec<_> =
        (0..12).map(|index| token_transfer(person(index), 0, person(index + 12), 5)).collect();
    let state = state();
    let expected = execute(&state, &transfers, false);
    assert_eq!(state.single.swap(0, Ordering::Relaxed), 24, "each transfer reads two slots");
    assert_eq!(execute(&state, &transfers, true), expected);
    assert_eq!(state.single.load(Ordering::Relaxed), 8, "the first batch has four transfers");
    let batches = state.batches.lock().unwrap();
    let slots: Vec<U256> = (4..12)
        .flat_map(|index| [person(index), person(index + 12)])
        .map(|owner| erc20_balance_slot(owner).into())
        .collect();
    assert_eq!(*batches, [slots], "sender and recipient of the other eight");
}

#[test]
fn entries_of_nested_mappings_are_predicted() {
    let calls: Vec<_> = (0..6).map(|index| nested_call(person(index), 0, person(index + 6))).collect();
    let state = state();
    let expected = execute(&state, &calls, false);
    assert_eq!(execute(&state, &calls, true), expected);
    let slot = |owner: u8| -> U256 {
        let outer = keccak256([person(owner).into_word(), B256::with_last_byte(1)].concat());
        keccak256([person(owner + 6).into_word(), outer].concat()).into()
    };
    assert_eq!(*state.batches.lock().unwrap(), [vec![slot(4), slot(5)]], "and no slot of the outer mapping");
}

#[test]
fn input_that_is_too_short_predicts_no_slot() {
    let mut calls: Vec<_> = (0..4).map(|index| nested_call(person(index), 0, person(9))).collect();
    let input = hex!("01020304");
    calls.push(sign(transaction(0, TxKind::Call(NESTED), 0, input), person(4)));
    calls.push(sign(transaction(0, TxKind::Call(NESTED), 0, hex!("0102")), person(5)));
    let state = state();
    let expected = execute(&state, &calls, false);
    assert_eq!(execute(&state, &calls, true), expected);
    assert!(state.batches.lock().unwrap().is_empty());
}

proptest! {
    #[test]
    fn prefetching_never_changes_a_result(
        calls in prop::collection::vec((any::<bool>(), 0..4_u8, 0..4_u8, 0..60_u64), 1..40)
    ) {
        let mut nonces = [0; 4];
        let transactions: Vec<_> = calls
            .into_iter()
            .map(|(is_token, from, to, amount)| {
                let nonce = nonces[usize::from(from)];
                nonces[usize::from(from)] += 1;
                // Transfers to oneself and above the balance included.
                if is_token {
                    token_transfer(person(from), nonce, person(to), amount)
                } else {
                    nested_call(person(from), nonce, person(to))
                }
            })
            .collect();
        prop_assert_eq!(execute(&state(), &transactions, true), execute(&state(), &transactions, false));
    }
}
