//! Processor time of one step of 5,000 ERC-20 transfers over a million accounts, by part: the best of some
//! rounds. `cargo run --release -p foreseal-benches --example step_parts -- [rounds] [accounts]`. A JSON line
//! per part; `processor_us` adds up all threads.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use foreseal_builder::{NextBlockAttributes, ParentBlock, PendingBlock};
use foreseal_evm::{BlockGas, Executor};
use foreseal_journal::{Identity, JournalOptions, LocalJournal, RealDisk, Record};
use foreseal_keccak::logs_bloom;
use foreseal_pool::{PendingHead, Pool, PoolConfig, decode_submission};
use foreseal_primitives::{ChainSpec, Flashblock};
use foreseal_state::{BlockHashes, State, StateError, StateReader};
use foreseal_testkit::{Contract, Fees, Wallet, erc20_balance_slot, erc20_transfer, test_genesis};
use foreseal_trie::ListTrie;
use rustix::time::{ClockId, clock_gettime};

const TRANSACTIONS: u64 = 5_000;
/// Largest batch of transactions that the builder prefetches.
const LOOK_AHEAD: usize = 64;

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

/// Best processor time and best elapsed time of a part.
struct Part {
    name: &'static str,
    processor: Duration,
    elapsed: Duration,
}

#[derive(Default)]
struct Parts(Vec<Part>);

impl Parts {
    fn measure<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let (started, used) = (Instant::now(), processor_time());
        let result = black_box(work());
        let (elapsed, processor) = (started.elapsed(), processor_time().saturating_sub(used));
        match self.0.iter_mut().find(|part| part.name == name) {
            Some(part) => {
                part.processor = part.processor.min(processor);
                part.elapsed = part.elapsed.min(elapsed);
            }
            None => self.0.push(Part { name, processor, elapsed }),
        }
        result
    }

    fn report(&self) {
        for Part { name, processor, elapsed } in &self.0 {
            let (processor, elapsed) = (processor.as_micros(), elapsed.as_micros());
            println!(r#"{{"part": "{name}", "processor_us": {processor}, "elapsed_us": {elapsed}}}"#);
        }
    }
}

/// Returns the processor time of this process so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("processor time is not negative")
}

fn stranger(index: u64) -> Address {
    Address::from_word(keccak256(index.to_be_bytes()))
}

/// Returns a genesis of this many accounts that all have ether and tokens.
fn genesis_of(accounts: u64, wallets: &[Wallet]) -> ChainSpec {
    let mut genesis = test_genesis(wallets);
    let tokens = genesis.alloc.get_mut(&Contract::Erc20.address()).expect("the test genesis has it");
    let storage = tokens.storage.get_or_insert_default();
    for index in TRANSACTIONS..accounts {
        storage.insert(erc20_balance_slot(stranger(index)), U256::from(1_000_000).into());
    }
    for index in TRANSACTIONS..accounts {
        genesis.alloc.entry(stranger(index)).or_default().balance = U256::from(1_000_000_000_000_u64);
    }
    ChainSpec::new(genesis).expect("a development genesis is supported")
}

fn filled_pool(wallets: &[Wallet], accounts: u64, spec: &ChainSpec, open: &PendingBlock) -> Pool {
    let pool = Pool::new(PoolConfig::default());
    let rules = pool.rules(spec, open.header());
    let head = Arc::new(Head(open.state().clone()));
    for (index, wallet) in (0..TRANSACTIONS).zip(wallets) {
        let to = stranger(TRANSACTIONS + index * 7919 % (accounts - TRANSACTIONS));
        let token = Contract::Erc20.address().into();
        let data = erc20_transfer(to, U256::from(1));
        let raw = wallet.eip1559(0, token, U256::ZERO, 100_000, data, Fees::default());
        let submission = decode_submission(&raw, &rules).expect("it is valid");
        pool.add(submission, || head.clone()).expect("it is admitted");
    }
    pool
}

fn open_block(spec: &Arc<ChainSpec>, state: &State) -> PendingBlock {
    let header = spec.genesis_header(state.root());
    let opening = NextBlockAttributes {
        merged: true,
        timestamp: 2,
        mix_hash: B256::ZERO,
        beneficiary: Address::repeat_byte(9),
        gas_limit: header.gas_limit,
        extra_data: Bytes::new(),
        base_fee: None,
        parent_beacon_block_root: B256::ZERO,
        withdrawals: Vec::new(),
        transactions: Vec::new(),
    };
    let parent = ParentBlock { header: &header, hash: header.hash_slow(), state };
    PendingBlock::open(spec, parent, &opening, &NoHashes).expect("a block can be opened").0
}

/// Makes the step and appends it to the journal.
fn whole_step(parts: &mut Parts, open: &PendingBlock, pool: &Pool, journal: &mut LocalJournal) -> Flashblock {
    let base_fee = open.header().base_fee_per_gas.unwrap_or(0);
    let (block, flashblock) = parts.measure("step: order, execution and roots", || {
        let mut best = pool.best(base_fee, 1);
        open.step(&mut best, &NoHashes, &mut || true).expect("it executes").step.expect("a step")
    });
    assert_eq!(flashblock.transactions.len() as u64, TRANSACTIONS);
    let record = Record::Step(Arc::new(flashblock.clone()));
    parts.measure("journal: encoding, append and sync", || {
        journal.append(std::slice::from_ref(&record)).expect("it is appended");
    });
    parts.measure("drop of the block", || drop(block));
    flashblock
}

/// Repeats the work of a step in separate parts.
fn separate_parts(parts: &mut Parts, spec: &ChainSpec, open: &PendingBlock, step: &Flashblock) {
    let state = open.base();
    let addresses: Vec<Address> = step.diff.accounts.iter().map(|changed| changed.address).collect();
    parts.measure("reads of accounts", || {
        for next in addresses.chunks(LOOK_AHEAD) {
            black_box(state.accounts(next).expect("memory never fails"));
        }
    });
    parts.measure("reads of slots, one by one", || {
        for changed in step.diff.accounts.iter().filter(|changed| !changed.diff.storage.is_empty()) {
            let storage = state.account_storage(&changed.address).expect("memory never fails");
            for (slot, _) in &changed.diff.storage {
                black_box(storage.slot(slot).expect("memory never fails"));
            }
        }
    });
    let mut executor = Executor::new(spec, state, &NoHashes, open.header());
    let receipts: Vec<_> = parts.measure("execution with reads and receipts", || {
        let mut gas = BlockGas::default();
        let mut receipts = Vec::with_capacity(step.transactions.len());
        for (index, transaction) in step.transactions.iter().enumerate() {
            if let Some(count) = executor.lookahead() {
                let upcoming = step.transactions[index..].iter().take(count).map(AsRef::as_ref);
                executor.prefetch(upcoming).expect("memory never fails");
            }
            receipts.push(executor.transact(transaction, &mut gas).expect("it is valid"));
        }
        receipts
    });
    parts.measure("execution: diff", || executor.drain_diff());
    parts.measure("execution: blooms", || {
        for receipt in &receipts {
            black_box(logs_bloom(&receipt.logs));
        }
    });
    let next =
        parts.measure("roots: accounts and storage", || state.apply(&step.diff).expect("it is in memory"));
    parts.measure("drop of the state", || drop(next));
    parts.measure("roots: transactions", || {
        let mut list = ListTrie::default();
        list.extend(step.transactions.iter().map(|one| one.encoded().clone()));
        list
    });
    parts.measure("roots: receipts", || {
        let mut list = ListTrie::default();
        list.extend(step.receipts.iter().map(|receipt| {
            let mut bytes = Vec::with_capacity(480);
            receipt.encode_2718(&mut bytes);
            bytes.into()
        }));
        list
    });
    parts.measure("journal: encoding", || step.encode());
}

fn main() {
    let mut given = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let (rounds, accounts) = (given.next().unwrap_or(15), given.next().unwrap_or(1_000_000));
    let wallets = Wallet::some(TRANSACTIONS);
    let spec = Arc::new(genesis_of(accounts, &wallets));
    let state = State::from_genesis(spec.genesis());
    let open = open_block(&spec, &state);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let identity = Identity { chain_id: spec.chain_id(), genesis: open.header().parent_hash };
    let options = JournalOptions { identity, segment_bytes: 256 << 20, entropy: [7; 32] };
    let (mut journal, _) =
        LocalJournal::open(folder.path(), Arc::new(RealDisk), options).expect("an empty journal opens");
    let pool = filled_pool(&wallets, accounts, &spec, &open);
    let mut parts = Parts::default();
    for _ in 0..rounds {
        let step = whole_step(&mut parts, &open, &pool, &mut journal);
        separate_parts(&mut parts, &spec, &open, &step);
    }
    parts.report();
}
