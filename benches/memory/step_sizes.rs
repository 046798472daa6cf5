//! Steps of a hundred transfers over 10,000, 100,000 and a million accounts, interleaved on one node each:
//! the time of a step, root and journal included, with the whole state in memory, and with unchanged state
//! only in the store. `cargo run --release -p foreseal-benches --example step_sizes -- [steps]`. A JSON line
//! per setting and size.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::{B256, U256, keccak256};
use foreseal_benches::keyless_address;
use foreseal_chain::{Clock, SteppedClock};
use foreseal_journal::RealDisk;
use foreseal_node::{Node, NodeEnvironment, Producer, Settings};
use foreseal_testkit::{Fees, Wallet, counting, test_genesis};

const SIZES: [u64; 3] = [10_000, 100_000, 1_000_000];
const SENDERS: u64 = 500;
const TRANSFERS: u64 = 100;
const STEP: Duration = Duration::from_millis(200);
const BLOCK: Duration = Duration::from_secs(2);
/// Blocks until all unchanged state has left memory; each block evicts a part of it.
const UNLOADING: u64 = 600;

/// A node over this many accounts.
struct Site {
    accounts: u64,
    node: Arc<Node>,
    producer: Producer,
    clock: Arc<SteppedClock>,
    sent: u64,
    /// Microseconds of each step.
    taken: Vec<f64>,
    _folder: tempfile::TempDir,
}

impl Site {
    fn new(accounts: u64, wallets: &[Wallet]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut genesis = test_genesis(wallets);
        for index in SENDERS..accounts {
            genesis.alloc.entry(keyless_address(index)).or_default().balance =
                U256::from(1_000_000_000_000_u64);
        }
        let settings = Settings { genesis: Some(genesis), ..Settings::new(folder.path().to_owned()) };
        let clock = Arc::new(SteppedClock::default());
        let environment = NodeEnvironment {
            clock: clock.clone(),
            randomness: counting(),
            secret: Box::new(|| B256::repeat_byte(1)),
            disk: Arc::new(RealDisk),
        };
        let node = Arc::new(Node::open(settings, environment).expect("the node opens"));
        let producer = node.start_stepped().expect("the node starts").expect("it produces");
        Self { accounts, node, producer, clock, sent: 0, taken: Vec::new(), _folder: folder }
    }

    fn tick(&mut self, time: Duration) {
        self.clock.advance(time);
        self.producer.tick(self.clock.now(), &mut || true).expect("production goes on");
    }

    fn step(&mut self, wallets: &[Wallet]) {
        for at in self.sent..self.sent + TRANSFERS {
            let wallet = &wallets[usize::try_from(at % SENDERS).expect("few senders")];
            let random = U256::from_be_bytes(keccak256(at.to_le_bytes()).0);
            let index = SENDERS + (random % U256::from(self.accounts - SENDERS)).to::<u64>();
            let raw = wallet.transfer(at / SENDERS, keyless_address(index), 1, Fees::default());
            self.node.submit(&raw).expect("a valid transaction is admitted");
        }
        self.sent += TRANSFERS;
        // Measured by the real clock: the node's clock stands still meanwhile.
        let begun = Instant::now();
        self.tick(STEP);
        self.taken.push(begun.elapsed().as_secs_f64() * 1e6);
        assert_eq!(self.node.pool().counts().pooled, 0, "all of them are in the step");
    }

    /// Prints the measured times and clears them.
    fn report(&mut self, setting: &str) {
        let Self { taken, accounts, .. } = self;
        taken.sort_by(f64::total_cmp);
        let (best, median) = (taken[0], taken[taken.len() / 2]);
        taken.clear();
        println!(
            r#"{{"setting": "{setting}", "accounts": {accounts}, "step_us": [{best:.1}, {median:.1}]}}"#
        );
    }
}

fn main() {
    let steps = std::env::args().nth(1).map_or(200, |steps| steps.parse().expect("a number of steps"));
    let wallets = Wallet::some(SENDERS);
    let mut sites = SIZES.map(|accounts| Site::new(accounts, &wallets));
    for setting in ["memory", "store"] {
        for _ in 0..steps {
            for site in &mut sites {
                site.step(&wallets);
            }
        }
        for site in &mut sites {
            site.report(setting);
            for _ in 0..UNLOADING {
                site.tick(BLOCK);
            }
        }
    }
}
