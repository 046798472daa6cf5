//! One step of ERC-20 transfers over a million accounts: pool order, execution, all roots, journal append and
//! sync.
//!
//! The block is a value, so every iteration makes the same step from the same state. Each iteration appends
//! it to a real journal on the disk under the temporary folder.

use std::{sync::Arc, time::Duration};

use alloy_primitives::{Address, B256, U256, keccak256};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use foreseal_benches::sized;
use foreseal_builder::{NextBlockAttributes, ParentBlock, PendingBlock};
use foreseal_journal::{Identity, JournalOptions, LocalJournal, RealDisk, Record};
use foreseal_pool::{PendingHead, Pool, PoolConfig, decode_submission};
use foreseal_primitives::ChainSpec;
use foreseal_state::{BlockHashes, State, StateError, StateReader};
use foreseal_testkit::{Contract, Fees, Wallet, erc20_balance_slot, erc20_transfer, test_genesis};

const SENDERS: u64 = 5_000;

fn accounts() -> u64 {
    sized(1_000_000, 20_000)
}

struct NoHashes;

impl BlockHashes for NoHashes {
    fn block_hash(&self, _: u64) -> Result<Option<B256>, StateError> {
        Ok(None)
    }
}

struct Head(State);

impl PendingHead for Head {
    fn state(&self) -> &dyn StateReader {
        &self.0
    }

    fn is_preconfirmed(&self, _: &B256) -> bool {
        false
    }
}

fn stranger(index: u64) -> Address {
    Address::from_word(keccak256(index.to_be_bytes()))
}

/// Returns a genesis of a million accounts that all have ether and tokens.
fn million(wallets: &[Wallet]) -> ChainSpec {
    let mut genesis = test_genesis(wallets);
    let tokens = genesis.alloc.get_mut(&Contract::Erc20.address()).expect("the test genesis has it");
    let storage = tokens.storage.get_or_insert_default();
    for index in SENDERS..accounts() {
        storage.insert(erc20_balance_slot(stranger(index)), U256::from(1_000_000).into());
    }
    for index in SENDERS..accounts() {
        genesis.alloc.entry(stranger(index)).or_default().balance = U256::from(1_000_000_000_000_u64);
    }
    ChainSpec::new(genesis).expect("a development genesis is supported")
}

fn filled_pool(wallets: &[Wallet], count: u64, spec: &ChainSpec, open: &PendingBlock) -> Pool {
    let pool = Pool::new(PoolConfig::default());
    let rules = pool.rules(spec, open.header());
    let head = Arc::new(Head(open.state().clone()));
    for index in 0..count {
        let sender = usize::try_from(index % SENDERS).expect("small");
        let to = stranger(SENDERS + index * 7919 % (accounts() - SENDERS));
        let data = erc20_transfer(to, U256::from(1));
        let raw = wallets[sender].eip1559(
            index / SENDERS,
            Contract::Erc20.address().into(),
            U256::ZERO,
            100_000,
            data,
            Fees::default(),
        );
        let submission = decode_submission(&raw, &rules).expect("it is valid");
        pool.add(submission, || head.clone()).expect("it is admitted");
    }
    pool
}

fn step(criterion: &mut Criterion) {
    let wallets = Wallet::some(SENDERS);
    let spec = Arc::new(million(&wallets));
    let state = State::from_genesis(spec.genesis());
    let header = spec.genesis_header(state.root());
    let hash = header.hash_slow();
    let opening = NextBlockAttributes {
        merged: true,
        timestamp: 2,
        mix_hash: B256::ZERO,
        beneficiary: Address::repeat_byte(9),
        gas_limit: header.gas_limit,
        extra_data: alloy_primitives::Bytes::new(),
        base_fee: None,
        parent_beacon_block_root: B256::ZERO,
        withdrawals: Vec::new(),
        transactions: Vec::new(),
    };
    let parent = ParentBlock { header: &header, hash, state: &state };
    let (open, _) = PendingBlock::open(&spec, parent, &opening, &NoHashes).expect("a block can be opened");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let identity = Identity { chain_id: spec.chain_id(), genesis: hash };
    let options = JournalOptions { identity, segment_bytes: 256 << 20, entropy: [7; 32] };
    let (mut journal, _) =
        LocalJournal::open(folder.path(), Arc::new(RealDisk), options).expect("an empty journal opens");
    let mut group = criterion.benchmark_group("step of ERC-20 transfers, a million accounts");
    group.sample_size(20).measurement_time(Duration::from_secs(8));
    for count in [1_000, 5_000] {
        let pool = filled_pool(&wallets, count, &spec, &open);
        group.throughput(Throughput::Elements(count));
        group.bench_function(format!("{count}, roots"), |bencher| {
            bencher.iter(|| {
                let mut best = pool.best(open.header().base_fee_per_gas.unwrap_or(0), 1);
                let (block, flashblock) =
                    open.step(&mut best, &NoHashes, &mut || true).expect("it executes").step.expect("a step");
                assert_eq!(flashblock.transactions.len() as u64, count);
                block.hash()
            });
        });
        group.bench_function(format!("{count}, roots and journal sync"), |bencher| {
            bencher.iter(|| {
                let mut best = pool.best(open.header().base_fee_per_gas.unwrap_or(0), 1);
                let (block, flashblock) =
                    open.step(&mut best, &NoHashes, &mut || true).expect("it executes").step.expect("a step");
                journal.append(&[Record::Step(Arc::new(flashblock))]).expect("it is appended");
                block.hash()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);
