//! Execution of one step: plain and token transfers between a million accounts, and taking the diff.

use std::hint::black_box;

use alloy_consensus::{Header, SignableTransaction, Transaction as _, TxEip1559};
use alloy_eips::eip2930::AccessList;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, keccak256};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use foreseal_evm::{BlockGas, Executor};
use foreseal_state::{BlockHashes, State, StateError};
use foreseal_testkit::{Contract, erc20_balance_slot, erc20_transfer};
use foreseal_types::{
    Account, AccountDiff, ChainSpec, ChangedAccount, DEV_CHAIN_ID, DevGenesis, NewCode, StateDiff,
    Transaction, dev_genesis,
};

const ACCOUNTS: u64 = 1_000_000;
const TRANSACTIONS: u64 = 1_000;
/// As the builder does.
const LOOK_AHEAD: usize = 64;

struct NoHashes;

impl BlockHashes for NoHashes {
    fn block_hash(&self, _: u64) -> Result<Option<B256>, StateError> {
        Ok(None)
    }
}

fn address(seed: u64) -> Address {
    Address::from_slice(&keccak256(seed.to_be_bytes())[12..])
}

/// Accounts with ether and tokens.
fn world() -> State {
    let rich = Account { balance: U256::from(10).pow(U256::from(20)), ..Account::default() };
    let code = Contract::Erc20.code();
    let hash = keccak256(&code);
    let mut storage: Vec<_> = (0..ACCOUNTS)
        .map(|seed| (U256::from_be_bytes(erc20_balance_slot(address(seed)).0), U256::from(1_000_000)))
        .collect();
    storage.sort_unstable();
    let account = |account, storage| AccountDiff { account: Some(account), wiped: false, storage };
    let mut accounts: Vec<_> = (0..ACCOUNTS)
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
    // The sender is given, nobody looks at the signature.
    let signed = transaction.into_signed(Signature::new(U256::ONE, U256::ONE, false));
    Transaction::new(signed.into(), sender)
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

fn execution(c: &mut Criterion) {
    let (state, spec) = (world(), spec());
    let header = Header {
        number: 1,
        timestamp: 1_800_000_002,
        gas_limit: 400_000_000,
        beneficiary: Address::repeat_byte(0xee),
        base_fee_per_gas: Some(1_000_000_000),
        excess_blob_gas: Some(0),
        ..Header::default()
    };
    let pair = |at: u64| (address(at * 997), address(at * 991 + 13));
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
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut executor = Executor::new(&spec, &state, &NoHashes, &header);
                let mut gas = BlockGas::default();
                for next in transactions.chunks(LOOK_AHEAD) {
                    let needed =
                        next.iter().flat_map(|one| [one.sender()].into_iter().chain(one.envelope().to()));
                    executor.prefetch(needed).expect("memory never fails");
                    for transaction in next {
                        let receipt = executor.transact(transaction, &mut gas).expect("it is valid");
                        assert!(receipt.succeeded());
                        black_box(receipt);
                    }
                }
                executor.take_diff()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, execution);
criterion_main!(benches);
