//! A million token transfers through one node at its maximum rate, and the memory of the process meanwhile:
//! `cargo run --release -p foreseal-benches --example million -- [transactions] [accounts]`. A JSON line per
//! sample.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use foreseal_chain::{Clock, SteppedClock};
use foreseal_journal::RealDisk;
use foreseal_node::{Node, NodeEnvironment, Producer, Settings};
use foreseal_replication::Production;
use foreseal_testkit::{Contract, Fees, Wallet, erc20_transfer, test_genesis};
use rayon::prelude::*;

/// Accounts that send.
const SENDERS: u64 = 5_000;
/// Transactions submitted before each step; ten steps make a block.
const STEP: usize = 1_000;
const STEP_TIME: Duration = Duration::from_millis(200);
/// Ten steps fit into a block.
const GAS_LIMIT: u64 = 1_000_000_000;

struct Run {
    node: Arc<Node>,
    producer: Producer,
    clock: Arc<SteppedClock>,
    wallets: Vec<Wallet>,
    accounts: u64,
    sent: u64,
}

fn main() {
    let mut given = std::env::args().skip(1).filter_map(|word| word.parse::<u64>().ok());
    let (total, accounts) = (given.next().unwrap_or(1_000_000), given.next().unwrap_or(200_000));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let wallets = Wallet::some(SENDERS);
    let genesis = test_genesis(&wallets);
    let production = Production { gas_limit: Some(GAS_LIMIT), ..Production::default() };
    let settings = Settings { genesis: Some(genesis), production, ..Settings::new(folder.path().to_owned()) };
    let clock = Arc::new(SteppedClock::default());
    let mut blocks = 0_u64;
    let randomness = Box::new(move || {
        blocks += 1;
        B256::from(U256::from(blocks))
    });
    let environment = NodeEnvironment {
        clock: clock.clone(),
        randomness,
        secret: Box::new(|| B256::repeat_byte(1)),
        disk: Arc::new(RealDisk),
    };
    let node = Arc::new(Node::open(settings, environment).expect("the node opens"));
    let producer = node.start_stepped().expect("the node starts").expect("it produces");
    let mut run = Run { node, producer, clock, wallets, accounts, sent: 0 };
    run.go(total);
}

impl Run {
    fn go(&mut self, total: u64) {
        let started = Instant::now();
        let mut sampled = 0;
        let mut taken = 0;
        while taken < total {
            // The clients wait while the node is behind.
            if self.sent - taken < 2 * STEP as u64 {
                self.submit();
            }
            self.step();
            let counts = self.node.pool().counts();
            taken = self.sent - (counts.pooled + counts.queued) as u64;
            if taken - sampled >= 10_000 {
                sampled = taken;
                self.sample(taken, started.elapsed());
            }
        }
    }

    /// Submits the transactions of one step. Signing is part of the run, in place of the clients.
    fn submit(&mut self) {
        let raw: Vec<Bytes> =
            (self.sent..self.sent + STEP as u64).into_par_iter().map(|at| self.transfer(at)).collect();
        raw.par_iter().for_each(|raw| {
            self.node.submit(raw).expect("a valid transaction is admitted");
        });
        self.sent += STEP as u64;
    }

    fn transfer(&self, at: u64) -> Bytes {
        let to = Address::from_word(keccak256((at.wrapping_mul(7919) % self.accounts).to_be_bytes()));
        let wallet = &self.wallets[usize::try_from(at % SENDERS).expect("few senders")];
        let data = erc20_transfer(to, U256::from(1));
        wallet.eip1559(
            at / SENDERS,
            Contract::Erc20.address().into(),
            U256::ZERO,
            100_000,
            data,
            Fees::default(),
        )
    }

    fn step(&mut self) {
        self.clock.advance(STEP_TIME);
        self.producer.tick(self.clock.now(), &mut || true).expect("production goes on");
    }

    fn sample(&self, taken: u64, elapsed: Duration) {
        let view = self.node.view().expect("the node has started");
        let (anonymous, file) = resident();
        println!(
            "{{\"transactions\": {}, \"block\": {}, \"seconds\": {:.1}, \"anonymous_bytes\": {anonymous}, \"file_bytes\": {file}}}",
            taken,
            view.latest().number(),
            elapsed.as_secs_f64(),
        );
    }
}

/// Returns resident bytes of this process: its own memory, and file pages (the store's map, which the kernel
/// can reclaim).
fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    (bytes("RssAnon:"), bytes("RssFile:"))
}
