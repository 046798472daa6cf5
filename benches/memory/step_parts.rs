//! Processor time of one step of 5,000 ERC-20 transfers over a million accounts, by part: the best of some
//! rounds. `cargo run --release -p foreseal-benches --example step_parts -- [rounds] [accounts]`. A JSON line
//! per part; `processor_us` adds up all threads.

use std::{
    hint::black_box,
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::Address;
use foreseal_benches::TokenChain;
use foreseal_evm::{BlockGas, Executor};
use foreseal_journal::{LocalJournal, Record};
use foreseal_keccak::logs_bloom;
use foreseal_pool::Pool;
use foreseal_primitives::Flashblock;
use foreseal_state::{NoBlockHashes, StateReader};
use foreseal_trie::ListTrie;
use rustix::time::{ClockId, clock_gettime};

const TRANSACTIONS: u64 = TokenChain::SENDERS;
/// Largest batch of transactions that the builder prefetches.
const LOOK_AHEAD: usize = 64;

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

/// Makes the step and appends it to the journal.
fn whole_step(parts: &mut Parts, chain: &TokenChain, pool: &Pool, journal: &mut LocalJournal) -> Flashblock {
    let (block, flashblock) = parts.measure("step: order, execution and roots", || chain.step(pool));
    assert_eq!(flashblock.transactions.len() as u64, TRANSACTIONS);
    let record = Record::Step(Arc::new(flashblock.clone()));
    parts.measure("journal: encoding, append and sync", || {
        journal.append(std::slice::from_ref(&record)).expect("it is appended");
    });
    parts.measure("drop of the block", || drop(block));
    flashblock
}

/// Repeats the work of a step in separate parts.
fn separate_parts(parts: &mut Parts, chain: &TokenChain, step: &Flashblock) {
    let state = chain.open.base();
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
    let mut executor = Executor::new(&chain.spec, state, &NoBlockHashes, chain.open.header());
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
    let chain = TokenChain::new(accounts);
    let (_folder, mut journal) = chain.journal();
    let pool = chain.pool(TRANSACTIONS);
    let mut parts = Parts::default();
    for _ in 0..rounds {
        let step = whole_step(&mut parts, &chain, &pool, &mut journal);
        separate_parts(&mut parts, &chain, &step);
    }
    parts.report();
}
