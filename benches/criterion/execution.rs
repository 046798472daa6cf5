//! Execution of one step: plain and token transfers between a million accounts, and extraction of the diff.
//! The peer is plain revm over its own in-memory database, which records changes as well. Neither computes a
//! root.

use std::hint::black_box;

use alloy_consensus::{Header, SignableTransaction, Transaction as _, TxEip1559};
use alloy_eips::eip2930::AccessList;
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256, keccak256};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use foreseal_benches::sized;
use foreseal_evm::{BlockGas, Executor};
use foreseal_primitives::{
    Account, AccountDiff, ChainSpec, ChangedAccount, DEV_CHAIN_ID, DevGenesis, NewCode, StateDiff,
    Transaction, dev_genesis,
};
use foreseal_state::{NoBlockHashes, State};
use foreseal_testkit::{Contract, erc20_balance_slot, erc20_transfer};
use revm::{
    Context, ExecuteCommitEvm, MainBuilder, MainContext,
    bytecode::Bytecode,
    context::{BlockEnv, CfgEnv, TxEnv},
    context_interface::block::BlobExcessGasAndPrice,
    database::{CacheDB, EmptyDB},
    state::AccountInfo,
};

const TRANSACTIONS: u64 = 1_000;
const TOKENS: U256 = U256::from_limbs([1_000_000, 0, 0, 0]);

fn accounts() -> u64 {
    sized(1_000_000, 20_000)
}

fn address(seed: u64) -> Address {
    Address::from_slice(&keccak256(seed.to_be_bytes())[12..])
}

fn ether() -> U256 {
    U256::from(10).pow(U256::from(20))
}

fn slot(seed: u64) -> U256 {
    U256::from_be_bytes(erc20_balance_slot(address(seed)).0)
}

/// Returns accounts with ether and tokens.
fn world() -> State {
    let rich = Account { balance: ether(), ..Account::default() };
    let code = Contract::Erc20.code();
    let hash = keccak256(&code);
    let mut storage: Vec<_> = (0..accounts()).map(|seed| (slot(seed), TOKENS)).collect();
    storage.sort_unstable();
    let account = |account, storage| AccountDiff { account: Some(account), wiped: false, storage };
    let mut accounts: Vec<_> = (0..accounts())
        .map(|seed| ChangedAccount { address: address(seed), diff: account(rich, Vec::new()) })
        .collect();
    let token = Account { nonce: 1, code_hash: hash, ..Account::default() };
    accounts.push(ChangedAccount { address: Contract::Erc20.address(), diff: account(token, storage) });
    accounts.sort_unstable_by_key(|changed| changed.address);
    State::default().apply(&StateDiff { accounts, codes: vec![NewCode { hash, code }] }).expect("in memory")
}

fn transaction(sender: Address, to: Address, value: u64, input: Bytes) -> Transaction {
    let transaction = TxEip1559 {
        chain_id: DEV_CHAIN_ID,
        nonce: 0,
        gas_limit: 100_000,
        max_fee_per_gas: 3_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(to),
        value: U256::from(value),
        access_list: AccessList::default(),
        input,
    };
    // The sender is given, so the signature is never checked.
    let signed = transaction.into_signed(Signature::new(U256::ONE, U256::ONE, false));
    Transaction::new(signed, sender)
}

fn spec() -> ChainSpec {
    let settings = DevGenesis {
        chain_id: DEV_CHAIN_ID,
        gas_limit: 400_000_000,
        timestamp: 1_800_000_000,
        accounts: Vec::new(),
        balance: U256::ZERO,
    };
    ChainSpec::new(dev_genesis(&settings)).expect("the development genesis is valid")
}

/// Result of a step: gas of each transaction, and the changes.
type Done = (Vec<u64>, StateDiff);

fn ours(spec: &ChainSpec, state: &State, header: &Header, transactions: &[Transaction]) -> Done {
    let mut executor = Executor::new(spec, state, &NoBlockHashes, header);
    let (mut gas, mut used) = (BlockGas::default(), Vec::with_capacity(transactions.len()));
    for (index, transaction) in transactions.iter().enumerate() {
        if let Some(count) = executor.lookahead() {
            executor.prefetch(transactions[index..].iter().take(count)).expect("memory never fails");
        }
        let receipt = executor.transact(transaction, &mut gas).expect("it is valid");
        assert!(receipt.succeeded());
        used.push(black_box(receipt).gas_used);
    }
    (used, executor.drain_diff())
}

type Plain = CacheDB<EmptyDB>;

/// Returns the accounts of [`world`].
fn plain_world() -> Plain {
    let mut world = Plain::default();
    for seed in 0..accounts() {
        world.insert_account_info(address(seed), AccountInfo::from_balance(ether()));
    }
    let code = Bytecode::new_raw(Contract::Erc20.code());
    let token = Contract::Erc20.address();
    world.insert_account_info(token, AccountInfo::from_bytecode(code).with_nonce(1));
    for seed in 0..accounts() {
        world.insert_account_storage(token, slot(seed), TOKENS).expect("memory never fails");
    }
    world
}

fn plain<'w>(
    spec: &ChainSpec,
    world: &'w Plain,
    header: &Header,
    transactions: &[Transaction],
) -> (Vec<u64>, CacheDB<&'w Plain>) {
    let blobs = BlobExcessGasAndPrice { excess_blob_gas: 0, blob_gasprice: 1 };
    let block = BlockEnv {
        number: U256::from(header.number),
        beneficiary: header.beneficiary,
        timestamp: U256::from(header.timestamp),
        gas_limit: header.gas_limit,
        basefee: header.base_fee_per_gas.expect("it has one"),
        prevrandao: Some(header.mix_hash),
        blob_excess_gas_and_price: Some(blobs),
        ..BlockEnv::default()
    };
    let rules = CfgEnv::new_with_spec(spec.fork(header)).with_chain_id(spec.chain_id());
    let context = Context::mainnet().with_db(CacheDB::new(world)).with_cfg(rules).with_block(block);
    let mut evm = context.build_mainnet();
    let used = transactions.iter().map(|transaction| {
        let result = evm.transact_commit(plain_transaction(transaction)).expect("it is valid");
        assert!(result.is_success());
        black_box(result).tx_gas_used()
    });
    (used.collect(), evm.ctx.journaled_state.database)
}

fn plain_transaction(transaction: &Transaction) -> TxEnv {
    let envelope = transaction.envelope();
    TxEnv {
        tx_type: transaction.kind(),
        caller: transaction.sender(),
        gas_limit: envelope.gas_limit(),
        gas_price: envelope.max_fee_per_gas(),
        gas_priority_fee: envelope.max_priority_fee_per_gas(),
        kind: envelope.kind(),
        value: envelope.value(),
        data: envelope.input().clone(),
        nonce: envelope.nonce(),
        chain_id: envelope.chain_id(),
        ..TxEnv::default()
    }
}

/// Asserts that changed accounts, changed slots and gas are the same on both sides.
fn agree(ours: &Done, theirs: &(Vec<u64>, CacheDB<&Plain>)) {
    assert_eq!(ours.0, theirs.0);
    for changed in &ours.1.accounts {
        let peer = &theirs.1.cache.accounts[&changed.address];
        let account = changed.diff.account.expect("nothing is destroyed");
        assert_eq!((account.balance, account.nonce), (peer.info.balance, peer.info.nonce));
        for (slot, value) in &changed.diff.storage {
            assert_eq!(peer.storage.get(slot), Some(value));
        }
    }
}

fn execution(c: &mut Criterion) {
    let (state, peer, spec) = (world(), plain_world(), spec());
    let header = Header {
        number: 1,
        timestamp: 1_800_000_002,
        gas_limit: 400_000_000,
        beneficiary: Address::repeat_byte(0xee),
        base_fee_per_gas: Some(1_000_000_000),
        excess_blob_gas: Some(0),
        ..Header::default()
    };
    let pair = |at: u64| (address(at * 997 % accounts()), address((at * 991 + 13) % accounts()));
    let transfers: Vec<_> = (0..TRANSACTIONS)
        .map(|at| {
            let (from, to) = pair(at);
            transaction(from, to, 1, Bytes::new())
        })
        .collect();
    let tokens: Vec<_> = (0..TRANSACTIONS)
        .map(|at| {
            let (from, to) = pair(at);
            transaction(from, Contract::Erc20.address(), 0, erc20_transfer(to, U256::from(5)))
        })
        .collect();
    let mut group = c.benchmark_group("step_of_1000");
    group.throughput(Throughput::Elements(TRANSACTIONS));
    for (name, transactions) in [("transfers", &transfers), ("erc20_transfers", &tokens)] {
        agree(&ours(&spec, &state, &header, transactions), &plain(&spec, &peer, &header, transactions));
        group.bench_function(name, |b| b.iter(|| ours(&spec, &state, &header, transactions)));
        group.bench_function(format!("{name}_plain_revm"), |b| {
            b.iter(|| plain(&spec, &peer, &header, transactions));
        });
    }
    group.finish();
}

criterion_group!(benches, execution);
criterion_main!(benches);
