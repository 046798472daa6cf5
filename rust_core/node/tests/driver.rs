//! Production under a driver: payloads, heads, branches, and what readers are told of them.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{path::Path, sync::Arc, time::Duration};

use alloy_eips::eip2718::Encodable2718 as _;
use alloy_genesis::{Genesis, GenesisAccount};
use alloy_primitives::{Address, B64, B256, Bytes, TxKind, U256, bytes};
use foreseal_builder::NextBlockAttributes;
use foreseal_chain::{Change, Clock as _, FeedPosition, SteppedClock, changes_and_seals};
use foreseal_journal::RealDisk;
use foreseal_node::{
    BlockVerdict, BuiltPayload, ControlError, ForkChoice, HeadChoice, MemoryBudget, NodeError,
    PayloadRequest, Settings, SettingsError, StoreSettings,
};
use foreseal_primitives::{BlockBytes, OptimismFork, Transaction, TxDeposit};
use foreseal_state::StateReader as _;
use foreseal_testkit::{Fees, Wallet, optimism_genesis, test_genesis};
use support::{Bench, OTHER_ACCOUNT, STEP, open_node, settings};

/// Maximum number of ticks; the thread of a slow transaction runs between them, with a lower priority.
const MAX_TICKS: usize = 10_000_000;
/// Uses all gas of a call.
const BURNER: Address = Address::repeat_byte(0xfe);

fn karst_genesis(wallets: &[Wallet]) -> Genesis {
    optimism_genesis(test_genesis(wallets), OptimismFork::Karst)
}

fn deposit(mint: u128, source: u8) -> Arc<Transaction> {
    let deposit = TxDeposit {
        source_hash: B256::repeat_byte(source),
        from: OTHER_ACCOUNT,
        to: TxKind::Call(Address::repeat_byte(0x55)),
        mint,
        value: U256::from(1),
        gas_limit: 50_000,
        is_system_transaction: false,
        input: Bytes::new(),
    };
    let envelope = Transaction::decode_envelope(&deposit.encoded_2718()).unwrap();
    Arc::new(Transaction::recover(envelope).unwrap())
}

/// A node under a driver, and a reader of its feed.
struct Driven {
    bench: Bench,
    position: FeedPosition,
    payloads: u64,
}

impl Driven {
    fn open(datadir: &Path, wallets: &[Wallet], clock: Arc<SteppedClock>) -> Self {
        let genesis = Some(karst_genesis(wallets));
        Self::with(Settings { genesis, driver: true, ..settings(datadir, wallets) }, clock)
    }

    fn with(settings: Settings, clock: Arc<SteppedClock>) -> Self {
        let bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
        let position = FeedPosition::end_of(&bench.view());
        Self { bench, position, payloads: 0 }
    }

    fn new(datadir: &Path, wallets: &[Wallet]) -> Self {
        Self::open(datadir, wallets, Arc::new(SteppedClock::default()))
    }

    /// Returns what readers are told since the last call: `+1.2` adds step 2 of block 1, `-1.2` removes it, `=1` seals
    /// block 1 and `~1` unseals it.
    fn changes(&mut self) -> String {
        let (mut told, view) = (Vec::new(), self.bench.view());
        self.position = changes_and_seals(&view, self.position, &mut |change, _| {
            told.push(match change {
                Change::Step(step) => format!("+{}.{}", step.block.header.number, step.index),
                Change::Removed(step) => format!("-{}.{}", step.block.header.number, step.index),
                Change::Sealed(block) => format!("={}", block.header.number),
                Change::Unsealed(block) => format!("~{}", block.header.number),
            });
        })
        .unwrap();
        told.join(" ")
    }

    fn attributes(&self, transactions: Vec<Arc<Transaction>>) -> NextBlockAttributes {
        let latest = self.bench.view().latest().block.header.clone();
        NextBlockAttributes {
            merged: true,
            timestamp: latest.timestamp + 2,
            mix_hash: B256::ZERO,
            beneficiary: Address::repeat_byte(0x11),
            gas_limit: 20_000_000,
            extra_data: latest.extra_data,
            exact_gas_limit: None,
            base_fee: None,
            parent_beacon_block_root: B256::ZERO,
            withdrawals: Vec::new(),
            transactions,
        }
    }

    fn request(&mut self, attributes: NextBlockAttributes, uses_pool: bool) -> PayloadRequest {
        self.payloads += 1;
        PayloadRequest { id: B64::from(self.payloads), attributes, uses_pool }
    }

    fn begin(&mut self, transactions: Vec<Arc<Transaction>>) -> PayloadRequest {
        let request = self.request(self.attributes(transactions), true);
        self.continue_with(&request);
        request
    }

    fn continue_with(&self, request: &PayloadRequest) {
        self.bench.node.drive(|payloads| payloads.begin_payload(request)).unwrap();
    }

    fn finish(&self, request: &PayloadRequest) -> BuiltPayload {
        self.bench.node.drive(|payloads| payloads.finish_payload(request.id)).unwrap().unwrap()
    }

    fn choose(&self, head: B256) -> HeadChoice {
        self.choose_with(head, None, None).unwrap()
    }

    fn choose_with(
        &self,
        head: B256,
        safe: Option<B256>,
        finalized: Option<B256>,
    ) -> Result<HeadChoice, ControlError> {
        self.bench.node.drive(|payloads| payloads.choose_head(&ForkChoice { head, safe, finalized }))
    }

    fn add(&self, block: BlockBytes) -> BlockVerdict {
        self.bench.node.drive(|payloads| payloads.add_block(block)).unwrap()
    }

    /// Builds and seals a block with these first transactions. Returns its hash.
    fn block(&mut self, transactions: Vec<Arc<Transaction>>) -> B256 {
        let request = self.begin(transactions);
        self.bench.tick();
        let hash = self.finish(&request).block.hash;
        assert_eq!(self.choose(hash), HeadChoice::Chosen);
        hash
    }

    fn submit(&self, wallet: &Wallet, nonce: u64) -> B256 {
        self.bench.node.submit(&wallet.transfer(nonce, Address::repeat_byte(9), 1, Fees::default())).unwrap()
    }

    fn sealed(&self, number: u64) -> BlockBytes {
        let block = self.bench.view().sealed(number).unwrap().unwrap();
        let mut bytes = Vec::new();
        block.block.encode(&mut bytes);
        alloy_rlp::decode_exact(&bytes).unwrap()
    }
}

fn start() -> (tempfile::TempDir, Vec<Wallet>, Driven) {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(3));
    let driven = Driven::new(datadir.path(), &wallets);
    (datadir, wallets, driven)
}

#[test]
fn a_payload_shows_its_steps_and_is_sealed_at_the_last_one() {
    let (_datadir, wallets, mut driven) = start();
    driven.bench.tick();
    assert_eq!(driven.changes(), "", "no block is open before the driver asks");
    let request = driven.begin(vec![deposit(5, 1)]);
    assert_eq!(driven.changes(), "+1.0");
    let view = driven.bench.view();
    assert_eq!((view.pending().block.transactions.len(), view.pending_index()), (1, 0));
    assert_eq!(view.pending().state.account(&OTHER_ACCOUNT).unwrap().unwrap().balance, U256::from(4));
    driven.submit(&wallets[0], 0);
    driven.bench.tick();
    assert_eq!(driven.changes(), "+1.1");
    let built = driven.finish(&request);
    assert_eq!(built.block.hash, driven.bench.view().pending().block.hash);
    assert_eq!(driven.finish(&request).block.hash, built.block.hash, "the same payload again");
    let waiting = driven.submit(&wallets[0], 1);
    driven.bench.tick();
    assert_eq!(driven.changes(), "", "nothing is visible after the payload was finished");
    assert_eq!(driven.choose(built.block.hash), HeadChoice::Chosen);
    assert_eq!(driven.changes(), "=1");
    assert_eq!(driven.bench.view().latest().block.hash, built.block.hash);
    driven.begin(vec![deposit(0, 2)]);
    driven.bench.tick();
    assert_eq!(driven.changes(), "+2.0 +2.1");
    assert!(driven.bench.view().transaction(&waiting).unwrap().is_some());
}

/// Returns a driver of a chain whose [`BURNER`] uses all gas, on a clock at the timestamp of the newest block.
fn start_burning() -> (tempfile::TempDir, Vec<Wallet>, Driven) {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(3));
    let mut genesis = karst_genesis(&wallets);
    let burner = GenesisAccount { nonce: Some(1), code: Some(bytes!("fe")), ..Default::default() };
    genesis.alloc.insert(BURNER, burner);
    let clock = Arc::new(SteppedClock::starting_at(Duration::from_secs(genesis.timestamp)));
    let settings = Settings { genesis: Some(genesis), driver: true, ..settings(datadir.path(), &wallets) };
    let driven = Driven::with(settings, clock);
    for wallet in &wallets {
        let burn = wallet.legacy(0, TxKind::Call(BURNER), U256::ZERO, 1_500_000, Bytes::new(), 5_000_000_000);
        driven.bench.node.submit(&burn).unwrap();
    }
    (datadir, wallets, driven)
}

#[test]
fn steps_of_a_payload_have_their_share_of_its_time() {
    let (_datadir, wallets, mut driven) = start_burning();
    driven.begin(vec![deposit(0, 1)]);
    let included = |driven: &Driven| driven.bench.view().pending().block.transactions.len() - 1;
    // A tenth of 20,000,000 gas for each step of 200 ms.
    for count in 1..=wallets.len() {
        driven.bench.producer.tick(driven.bench.clock.now(), &mut || true).unwrap();
        assert_eq!(included(&driven), count);
        driven.bench.clock.advance(STEP);
    }
}

#[test]
fn a_payload_of_the_past_may_be_full_at_once() {
    let (_datadir, wallets, mut driven) = start_burning();
    driven.bench.clock.advance(Duration::from_mins(1));
    driven.begin(vec![deposit(0, 1)]);
    driven.bench.tick();
    assert_eq!(driven.bench.view().pending().block.transactions.len() - 1, wallets.len());
}

#[test]
fn a_stopped_transaction_is_in_a_later_step_of_a_payload() {
    let (_datadir, wallets, mut driven) = start_burning();
    driven.bench.producer.limit_transaction_time(Duration::ZERO);
    let request = driven.begin(vec![deposit(0, 1)]);
    // The share has room for all. The clock stands still from the first step on.
    driven.bench.clock.advance(STEP);
    driven.bench.tick();
    assert_eq!(driven.bench.view().pending().block.transactions.len(), 1, "the deposit has no limit");
    let steps = (0..MAX_TICKS).take_while(|_| {
        driven.bench.producer.tick(driven.bench.clock.now(), &mut || true).unwrap();
        std::thread::yield_now();
        driven.bench.node.pool().counts().pooled > 0
    });
    assert!(steps.count() < MAX_TICKS);
    assert_eq!(driven.finish(&request).block.transactions.len(), 1 + wallets.len());
}

#[test]
fn an_abandoned_payload_is_withdrawn_and_its_transactions_return() {
    let (_datadir, wallets, mut driven) = start();
    let abandoned = driven.begin(vec![deposit(5, 1)]);
    let hash = driven.submit(&wallets[0], 0);
    driven.bench.tick();
    assert_eq!(driven.changes(), "+1.0 +1.1");
    let other =
        NextBlockAttributes { mix_hash: B256::repeat_byte(7), ..driven.attributes(vec![deposit(5, 2)]) };
    let request = driven.request(other, true);
    driven.continue_with(&request);
    assert_eq!(driven.changes(), "-1.1 -1.0 +1.0");
    assert!(driven.bench.node.pool().contains(&hash), "the transaction is in the pool again");
    assert_eq!(driven.bench.node.pool().all().len(), 1, "the deposit is not");
    driven.bench.tick();
    assert_eq!(driven.changes(), "+1.1");
    let late = driven.finish(&abandoned);
    assert_eq!(late.block.transactions.len(), 2, "a driver may still ask for it");
    let built = driven.finish(&request);
    assert!(built.block.transactions.iter().any(|transaction| transaction.hash() == hash));
}

#[test]
fn the_same_attributes_continue_the_open_block_after_a_kill() {
    let (datadir, wallets, mut driven) = start();
    let request = driven.begin(vec![deposit(5, 1)]);
    let hash = driven.submit(&wallets[0], 0);
    driven.bench.tick();
    let (clock, shown) = (driven.bench.clock.clone(), driven.bench.view().pending().block.hash);
    drop(driven);
    let mut driven = Driven::open(datadir.path(), &wallets, clock);
    let view = driven.bench.view();
    assert_eq!((view.pending().block.hash, view.pending_index()), (shown, 1));
    driven.position = FeedPosition::end_of(&view);
    driven.submit(&wallets[0], 1);
    driven.bench.tick();
    assert_eq!(driven.changes(), "", "nothing is added before the driver asks");
    driven.continue_with(&request);
    driven.bench.tick();
    assert_eq!(driven.changes(), "+1.2");
    let built = driven.finish(&request);
    assert!(built.block.transactions.iter().any(|transaction| transaction.hash() == hash));
    assert_eq!(built.block.transactions.len(), 3);
}

#[test]
fn the_head_goes_back_and_forth_and_finalized_does_not() {
    let (_datadir, wallets, mut driven) = start();
    driven.submit(&wallets[0], 0);
    let blocks: Vec<B256> = (1..=4).map(|source| driven.block(vec![deposit(1, source)])).collect();
    driven.choose_with(blocks[3], Some(blocks[2]), Some(blocks[0])).unwrap();
    let view = driven.bench.view();
    assert_eq!((view.latest().number(), view.safe(), view.finalized()), (4, 3, 1));
    driven.changes();
    driven.choose_with(blocks[1], Some(blocks[1]), None).unwrap();
    assert_eq!(driven.changes(), "~4 -4.0 ~3 -3.0");
    let view = driven.bench.view();
    assert_eq!((view.latest().number(), view.safe(), view.finalized()), (2, 2, 1));
    assert_eq!(driven.choose(blocks[3]), HeadChoice::Chosen);
    assert_eq!(driven.bench.view().latest().block.hash, blocks[3]);
    let genesis = driven.bench.view().sealed(0).unwrap().unwrap().block.hash;
    let refused = driven.choose_with(blocks[3], None, Some(genesis)).unwrap_err();
    assert!(matches!(refused, ControlError::ForkChoice(_)), "{refused}");
    let refused = driven.choose_with(genesis, None, None).unwrap_err();
    assert!(matches!(refused, ControlError::Finalized { number: 0, finalized: 1 }), "{refused}");
    let unknown = B256::repeat_byte(0xab);
    assert_eq!(driven.choose(unknown), HeadChoice::Unknown);
    assert!(matches!(driven.choose_with(blocks[3], Some(unknown), None), Err(ControlError::ForkChoice(_))));
    assert_eq!(driven.bench.view().latest().block.hash, blocks[3], "a refused choice changes nothing");
}

#[test]
fn a_refused_choice_changes_nothing() {
    let (_datadir, wallets, mut driven) = start();
    let blocks: Vec<B256> = (1..=3).map(|source| driven.block(vec![deposit(1, source)])).collect();
    driven.choose_with(blocks[2], None, Some(blocks[0])).unwrap();
    driven.begin(vec![deposit(1, 4)]);
    driven.changes();
    let refused = driven.choose_with(blocks[1], Some(blocks[2]), None).unwrap_err();
    assert!(matches!(refused, ControlError::ForkChoice(_)), "{refused}");
    let genesis = driven.bench.view().sealed(0).unwrap().unwrap().block.hash;
    let refused = driven.choose_with(genesis, None, None).unwrap_err();
    assert!(matches!(refused, ControlError::Finalized { number: 0, finalized: 1 }), "{refused}");
    assert_eq!(driven.changes(), "");
    driven.submit(&wallets[0], 0);
    driven.bench.tick();
    assert_eq!(driven.changes(), "+4.1", "the payload gets further steps");
}

#[test]
fn a_verifier_follows_another_branch() {
    follow_another_branch(MemoryBudget::default());
}

#[test]
fn blocks_of_branches_whose_results_left_memory_are_executed_again() {
    follow_another_branch(MemoryBudget::new(1 << 16));
}

fn follow_another_branch(memory: MemoryBudget) {
    let (_datadir, wallets, mut builder) = start();
    let (folder, mut verifier) = {
        let folder = tempfile::tempdir().unwrap();
        let genesis = Some(karst_genesis(&wallets));
        let store = StoreSettings::default().with_memory(memory);
        let settings = Settings { genesis, driver: true, store, ..settings(folder.path(), &wallets) };
        let driven = Driven::with(settings, Arc::new(SteppedClock::default()));
        (folder, driven)
    };
    builder.submit(&wallets[0], 0);
    let first = builder.block(vec![deposit(1, 1)]);
    let second = builder.block(vec![deposit(1, 2)]);
    builder.block(vec![deposit(1, 5)]);
    // The verifier has another block 1, in which the same transaction is.
    verifier.submit(&wallets[0], 0);
    let own = verifier.block(vec![deposit(1, 3)]);
    assert_ne!(own, first);
    assert_eq!(verifier.add(builder.sealed(2)), BlockVerdict::UnknownParent);
    assert_eq!(verifier.add(builder.sealed(1)), BlockVerdict::Valid);
    assert_eq!(verifier.add(builder.sealed(2)), BlockVerdict::Valid);
    assert_eq!(verifier.add(builder.sealed(3)), BlockVerdict::Valid);
    assert_eq!(verifier.bench.view().latest().block.hash, own, "a block of a branch is not the head");
    verifier.changes();
    assert_eq!(verifier.choose(second), HeadChoice::Chosen);
    assert_eq!(verifier.changes(), "~1 -1.1 -1.0 +1.0 =1 +2.0 =2");
    assert_eq!(verifier.bench.view().latest().block.hash, second);
    assert_eq!(verifier.bench.node.pool().counts().pooled, 0, "the transaction is in the new block");
    // Back to the own block, which is known although it was left, and a block after it.
    let child = {
        let folder = tempfile::tempdir().unwrap();
        let mut other = Driven::new(folder.path(), &wallets);
        other.submit(&wallets[0], 0);
        assert_eq!(other.block(vec![deposit(1, 3)]), own);
        other.block(vec![deposit(1, 4)]);
        other.sealed(2)
    };
    let hash = child.header.hash_slow();
    assert_eq!(verifier.add(child), BlockVerdict::Valid);
    assert_eq!(verifier.choose(hash), HeadChoice::Chosen);
    let clock = verifier.bench.clock.clone();
    drop(verifier);
    let verifier = Driven::open(folder.path(), &wallets, clock);
    assert_eq!(verifier.bench.view().latest().block.hash, hash, "the choice is durable");
}

#[test]
fn an_invalid_block_and_its_children_are_rejected() {
    let (_datadir, wallets, mut builder) = start();
    builder.block(vec![deposit(1, 1)]);
    let mut block = builder.sealed(1);
    block.header.state_root = B256::repeat_byte(1);
    let folder = tempfile::tempdir().unwrap();
    let verifier = Driven::new(folder.path(), &wallets);
    let genesis = verifier.bench.view().latest().block.hash;
    let hash = block.header.hash_slow();
    let verdict = verifier.add(block);
    let BlockVerdict::Invalid { latest_valid, reason } = verdict else { panic!("{verdict:?}") };
    assert_eq!(latest_valid, genesis);
    assert!(reason.starts_with("stateRoot: expected"), "{reason}");
    assert_eq!(verifier.choose(hash), HeadChoice::Invalid { latest_valid: genesis });
    builder.block(vec![deposit(1, 2)]);
    let mut child = builder.sealed(2);
    child.header.parent_hash = hash;
    assert!(
        matches!(verifier.add(child), BlockVerdict::Invalid { latest_valid, .. } if latest_valid == genesis)
    );
}

#[test]
fn attributes_that_no_block_can_have_are_refused() {
    let (_datadir, wallets, mut driven) = start();
    let raw = wallets[0].transfer(5, Address::ZERO, 1, Fees::default());
    let late = Arc::new(Transaction::recover(Transaction::decode_envelope(&raw).unwrap()).unwrap());
    let attributes = driven.attributes(vec![deposit(1, 1), late]);
    let request = driven.request(attributes, true);
    let refused = driven.bench.node.drive(|payloads| payloads.begin_payload(&request)).unwrap_err();
    assert!(
        matches!(&refused, ControlError::Attributes(reason) if reason.contains("transaction 1")),
        "{refused}"
    );
    assert_eq!(driven.changes(), "");
}

#[test]
fn the_limit_of_silence_is_three_blocks_and_has_a_maximum() {
    let (_datadir, _, mut driven) = start();
    for source in 1..=2 {
        driven.block(vec![deposit(1, source)]);
    }
    assert_eq!(driven.bench.node.tick_limit(), Duration::from_secs(3 * 2));
    let late = driven.attributes(vec![deposit(1, 3)]);
    let late = NextBlockAttributes { timestamp: late.timestamp + 1_800_000_000, ..late };
    let request = driven.request(late, true);
    driven.continue_with(&request);
    driven.choose(driven.finish(&request).block.hash);
    assert_eq!(driven.bench.node.tick_limit(), Duration::from_secs(3 * 12));
}

#[test]
fn an_ancestor_is_no_new_head_of_a_plain_chain() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let settings = Settings { driver: true, ..settings(datadir.path(), &wallets) };
    let mut driven = Driven::with(settings, Arc::new(SteppedClock::default()));
    let first = driven.block(Vec::new());
    let second = driven.block(Vec::new());
    assert_eq!(driven.choose(first), HeadChoice::Ancestor);
    assert_eq!(driven.bench.view().latest().block.hash, second);
}

#[test]
fn settings_that_exclude_a_driver_are_refused() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let optimism = Some(karst_genesis(&wallets));
    let plain = Settings { genesis: optimism, ..settings(datadir.path(), &wallets) };
    let refused = open_node(plain.clone()).err();
    assert!(matches!(refused, Some(NodeError::Settings(SettingsError::OptimismWithoutDriver))));
    let serving = Settings { driver: true, produce: false, ..plain };
    assert!(matches!(open_node(serving).err(), Some(NodeError::Settings(SettingsError::Driver(_)))));
}
