//! Random transactions under several forks, checked against independent code.
//!
//! The diffs, taken in portions of any size and applied to a state, produce the root of revm's own in-memory
//! database, hashed by an unrelated trie.

use crate::memory::{ALICE, BOB, MINER, MemoryState, sign};
use alloy_consensus::{Header, Transaction as _, TxLegacy};
use alloy_genesis::{ChainConfig, Genesis};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex, keccak256};
use alloy_trie::{TrieAccount, root};
use foreseal_evm::{BlockGas, ExecutionError, Executor};
use foreseal_primitives::{
    Account, AccountDiff, ChainSpec, ChangedAccount, NewCode, SpecId, StateDiff, Transaction,
};
use foreseal_state::{State, StateReader};
use proptest::prelude::*;
use revm::{
    Context, ExecuteCommitEvm, MainBuilder, MainContext,
    bytecode::Bytecode,
    context::TxEnv,
    database::{AccountState, CacheDB, EmptyDB},
    state::AccountInfo,
};

const FACTORY: Address = Address::repeat_byte(0xfa);
/// Creates a contract (CREATE2) from the rest of its input, with the first word as the salt, and passes its
/// value on.
const FACTORY_CODE: &[u8] = &hex!("600035 602036038060206000376000 34f550 00");
/// Stores 1 in slot 1 and becomes a contract that stores its second word at its first. Without input, that
/// contract destroys itself in favour of the caller.
const CHILD: &[u8] = &hex!("6001600155 60108060106000396000f3 3615600d576020356000355500 5b33ff");

#[derive(Clone, Debug)]
enum Action {
    Transfer { to: u8, value: u8 },
    Create { value: u8 },
    Produce { salt: u8, value: u8 },
    Store { salt: u8, slot: u8, value: u8 },
    Destroy { salt: u8, value: u8 },
}

fn action() -> impl Strategy<Value = (Action, bool)> {
    let action = prop_oneof![
        (0u8..6, 0u8..2).prop_map(|(to, value)| Action::Transfer { to, value }),
        (0u8..2).prop_map(|value| Action::Create { value }),
        (0u8..3, 0u8..2).prop_map(|(salt, value)| Action::Produce { salt, value }),
        (0u8..3, 0u8..3, 0u8..3).prop_map(|(salt, slot, value)| Action::Store { salt, slot, value }),
        (0u8..3, 0u8..2).prop_map(|(salt, value)| Action::Destroy { salt, value }),
    ];
    (action, any::<bool>())
}

fn child(salt: u8) -> Address {
    FACTORY.create2(B256::with_last_byte(salt), keccak256(CHILD))
}

impl Action {
    fn transaction(&self, nonce: u64) -> Transaction {
        let words =
            |words: &[u8]| -> Vec<u8> { words.iter().flat_map(|w| B256::with_last_byte(*w)).collect() };
        let (to, value, input) = match *self {
            // The zero address, a precompiled contract, an absent account, the children and the
            // miner.
            Self::Transfer { to, value } => {
                let to = [Address::ZERO, Address::with_last_byte(4), BOB, child(0), child(1), MINER]
                    [usize::from(to)];
                (TxKind::Call(to), value, vec![])
            }
            Self::Create { value } => (TxKind::Create, value, CHILD.to_vec()),
            Self::Produce { salt, value } => {
                (TxKind::Call(FACTORY), value, [words(&[salt]), CHILD.to_vec()].concat())
            }
            Self::Store { salt, slot, value } => (TxKind::Call(child(salt)), 0, words(&[slot, value])),
            Self::Destroy { salt, value } => (TxKind::Call(child(salt)), value, vec![]),
        };
        let legacy = TxLegacy {
            chain_id: None,
            nonce,
            gas_price: 10,
            gas_limit: 200_000,
            to,
            value: U256::from(value),
            input: Bytes::from(input),
        };
        sign(legacy, ALICE)
    }
}

/// Returns a legacy transaction as revm takes it.
fn environment(transaction: &Transaction) -> TxEnv {
    let envelope = transaction.envelope();
    TxEnv {
        caller: transaction.sender(),
        gas_limit: envelope.gas_limit(),
        gas_price: envelope.gas_price().expect("it is a legacy transaction"),
        kind: envelope.kind(),
        value: envelope.value(),
        data: envelope.input().clone(),
        nonce: envelope.nonce(),
        chain_id: envelope.chain_id(),
        ..TxEnv::default()
    }
}

fn spec(fork: SpecId) -> ChainSpec {
    let at = |since: SpecId| fork.is_enabled_in(since).then_some(0);
    let config = ChainConfig {
        homestead_block: at(SpecId::HOMESTEAD),
        eip150_block: at(SpecId::TANGERINE),
        eip155_block: at(SpecId::SPURIOUS_DRAGON),
        eip158_block: at(SpecId::SPURIOUS_DRAGON),
        byzantium_block: at(SpecId::BYZANTIUM),
        constantinople_block: at(SpecId::PETERSBURG),
        petersburg_block: at(SpecId::PETERSBURG),
        istanbul_block: at(SpecId::ISTANBUL),
        berlin_block: at(SpecId::BERLIN),
        london_block: at(SpecId::LONDON),
        terminal_total_difficulty: at(SpecId::MERGE).map(U256::from),
        shanghai_time: at(SpecId::SHANGHAI),
        cancun_time: at(SpecId::CANCUN),
        prague_time: at(SpecId::PRAGUE),
        osaka_time: at(SpecId::OSAKA),
        ..ChainConfig::default()
    };
    ChainSpec::new(Genesis { config, ..Genesis::default() }).unwrap()
}

fn start() -> (State, CacheDB<EmptyDB>) {
    let balance = U256::from(10).pow(U256::from(18));
    let code = Bytes::from_static(FACTORY_CODE);
    let hash = keccak256(&code);
    let rich = Account { balance, ..Account::default() };
    let factory = Account { nonce: 1, code_hash: hash, ..Account::default() };
    let changed = |address, account| ChangedAccount {
        address,
        diff: AccountDiff { account: Some(account), ..AccountDiff::default() },
    };
    let diff = StateDiff {
        accounts: vec![changed(ALICE, rich), changed(FACTORY, factory)],
        codes: vec![NewCode { hash, code: code.clone() }],
    };
    let mut other = CacheDB::new(EmptyDB::default());
    other.insert_account_info(ALICE, AccountInfo::from_balance(balance));
    let info = AccountInfo::new(U256::ZERO, 1, hash, Bytecode::new_legacy(code));
    other.insert_account_info(FACTORY, info);
    (State::default().apply(&diff).expect("in memory"), other)
}

/// Returns the state root of revm's database, which retains the empty accounts that EIP-161 clears.
fn other_root(database: &CacheDB<EmptyDB>, fork: SpecId) -> B256 {
    let cleared = fork.is_enabled_in(SpecId::SPURIOUS_DRAGON);
    let existing = database.cache.accounts.iter().filter(|(_, account)| {
        account.account_state != AccountState::NotExisting && !(cleared && account.info.is_empty())
    });
    root::state_root_unhashed(existing.map(|(address, account)| {
        let slots = account.storage.iter().filter(|(_, value)| !value.is_zero());
        let slots = slots.map(|(slot, value)| (B256::from(*slot), *value));
        let account = TrieAccount {
            nonce: account.info.nonce,
            balance: account.info.balance,
            storage_root: root::storage_root_unhashed(slots),
            code_hash: account.info.code_hash,
        };
        (*address, account)
    }))
}

fn header(fork: SpecId) -> Header {
    Header {
        number: 1,
        timestamp: 1,
        gas_limit: 1_000_000_000,
        beneficiary: MINER,
        difficulty: U256::from(u8::from(!fork.is_enabled_in(SpecId::MERGE))),
        base_fee_per_gas: fork.is_enabled_in(SpecId::LONDON).then_some(7),
        excess_blob_gas: fork.is_enabled_in(SpecId::CANCUN).then_some(0),
        ..Header::default()
    }
}

fn compare(fork: SpecId, actions: &[(Action, bool)]) -> Result<State, TestCaseError> {
    let (base, other) = start();
    let (spec, header, hashes) = (spec(fork), header(fork), MemoryState::default());
    prop_assert_eq!(spec.fork(&header), fork);
    let mut reference = Context::mainnet()
        .with_db(other)
        .modify_cfg_chained(|cfg| cfg.set_spec_and_mainnet_gas_params(fork))
        .modify_block_chained(|block| {
            block.number = U256::ONE;
            block.gas_limit = header.gas_limit;
            block.beneficiary = MINER;
            block.basefee = header.base_fee_per_gas.unwrap_or(0);
        })
        .build_mainnet();
    let mut executor = Executor::new(&spec, &base, &hashes, &header);
    let mut gas = BlockGas::default();
    let mut state = base.clone();
    for (nonce, (action, drain)) in (0u64..).zip(actions) {
        let transaction = action.transaction(nonce);
        // Transactions that cannot run come in between and leave no changes.
        let before = gas;
        let early = action.transaction(nonce + 1);
        let unfunded = Transaction::new(action.transaction(0).envelope().clone(), Address::repeat_byte(0x99));
        for impossible in [early, unfunded] {
            let error = executor.transact(&impossible, &mut gas).unwrap_err();
            prop_assert!(matches!(error, ExecutionError::Rejected(_)), "{}", error);
        }
        prop_assert_eq!(gas, before);
        let receipt = executor.transact(&transaction, &mut gas).unwrap();
        let expected = reference.transact_commit(environment(&transaction)).unwrap();
        prop_assert_eq!(receipt.gas_used, expected.tx_gas_used());
        if *drain {
            state = state.apply(&executor.drain_diff()).expect("in memory");
            prop_assert_eq!(state.root(), other_root(&reference.ctx.journaled_state.database, fork));
        }
    }
    state = state.apply(&executor.drain_diff()).expect("in memory");
    prop_assert_eq!(state.root(), other_root(&reference.ctx.journaled_state.database, fork));
    prop_assert!(executor.drain_diff().is_empty());
    Ok(state)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn diffs_applied_in_portions_have_the_same_root(
        fork in prop::sample::select(vec![
            SpecId::FRONTIER, SpecId::HOMESTEAD, SpecId::TANGERINE, SpecId::SPURIOUS_DRAGON, SpecId::BYZANTIUM,
            SpecId::PETERSBURG, SpecId::ISTANBUL, SpecId::BERLIN, SpecId::LONDON, SpecId::SHANGHAI,
            SpecId::CANCUN, SpecId::PRAGUE, SpecId::OSAKA,
        ]),
        actions in prop::collection::vec(action(), 1..24),
    ) {
        compare(fork, &actions)?;
    }
}

#[test]
fn a_recreated_contract_has_no_old_storage() {
    let store = |slot, value| Action::Store { salt: 0, slot, value };
    let produce = Action::Produce { salt: 0, value: 1 };
    let destroy = Action::Destroy { salt: 0, value: 0 };
    for drain in [false, true] {
        let actions = [produce.clone(), store(2, 2), destroy.clone(), produce.clone(), store(0, 1)];
        let actions = actions.map(|action| (action, drain));
        for fork in [SpecId::PETERSBURG, SpecId::SHANGHAI, SpecId::CANCUN] {
            let state = compare(fork, &actions).unwrap();
            let slot = |slot| state.storage(&child(0), &U256::from(slot)).unwrap();
            assert_eq!((slot(0), slot(1)), (U256::ONE, U256::ONE));
            // From Cancun on (EIP-6780) the contract was never destroyed.
            let remaining = if fork == SpecId::CANCUN { U256::from(2) } else { U256::ZERO };
            assert_eq!(slot(2), remaining);
        }
    }
}
