//! Limits of a step decide when a transaction is included, and never its result.

use std::{sync::Arc, time::Duration};

use alloy_genesis::GenesisAccount;
use alloy_primitives::{Address, B256, Bytes, U256, hex};
use foreseal_builder::{BlockShare, DeferredTransactions, PendingBlock, StepControl, StepLimits};
use foreseal_evm::RejectedTransaction;
use foreseal_pool::{Pool, PoolConfig, PoolError};
use foreseal_primitives::{ChainSpec, Flashblock, Transaction};
use foreseal_state::{NoBlockHashes, StateReader};
use foreseal_testkit::{Fees, Wallet, test_genesis};

use crate::opening::{open_block, submit, try_submit};

/// Uses all of its gas at once.
const BURNER: Address = Address::repeat_byte(0xb1);
/// Emits empty logs until its gas is used up.
const LOGGER: Address = Address::repeat_byte(0xb2);
/// Adds one to its slot 0.
const COUNTER: Address = Address::repeat_byte(0xb3);
const MAX_GAS: u64 = 1 << 24;
const BLOCK_TIME: Duration = Duration::from_secs(2);

/// A block under construction, and the pool that fills it.
struct Building {
    wallets: Vec<Wallet>,
    spec: Arc<ChainSpec>,
    pool: Pool,
    block: PendingBlock,
    deferred: DeferredTransactions,
}

impl Building {
    fn new() -> Self {
        let wallets = Wallet::some(40);
        let mut genesis = test_genesis(&wallets);
        let codes: [(Address, &[u8]); 3] = [
            (BURNER, &[0xfe]),
            (LOGGER, &hex!("5b5f5fa061ffff5a115f5700")),
            (COUNTER, &hex!("5f546001015f5500")),
        ];
        for (address, code) in codes {
            let code = Some(Bytes::copy_from_slice(code));
            genesis.alloc.insert(address, GenesisAccount { nonce: Some(1), code, ..Default::default() });
        }
        let (spec, block, _) = open_block(genesis);
        let pool = Pool::new(PoolConfig::default());
        Self { wallets, spec, pool, block, deferred: DeferredTransactions::default() }
    }

    /// Submits the first transaction of a wallet; returns its hash.
    fn submit(&self, wallet: usize, to: Address, gas: u64, tip: u128) -> B256 {
        let fees = Fees { tip, ..Fees::default() };
        let raw = self.wallets[wallet].eip1559(0, to.into(), U256::ZERO, gas, Bytes::new(), fees);
        submit(&self.pool, &self.spec, &self.block, &raw)
    }

    fn submit_transfer(&self, wallet: usize, tip: u128) -> B256 {
        self.submit(wallet, Address::repeat_byte(7), 21_000, tip)
    }

    /// Makes a step; returns its transactions.
    fn step(&mut self, limits: StepLimits) -> Vec<Arc<Transaction>> {
        let (transactions, rejected) = self.step_with_rejected(limits);
        assert_eq!(rejected, []);
        transactions
    }

    fn step_with_rejected(
        &mut self,
        limits: StepLimits,
    ) -> (Vec<Arc<Transaction>>, Vec<(B256, RejectedTransaction)>) {
        let control = StepControl {
            limits,
            deferred: &mut self.deferred,
            keep_going: &mut || true,
            clock: &|| Duration::ZERO,
        };
        let mut best = self.pool.best(self.block.header().base_fee_per_gas.unwrap(), 1);
        let built = self.block.step_within(&mut best, &NoBlockHashes, control).unwrap();
        let rejected = built.rejected;
        let Some((block, Flashblock { transactions, diff, .. })) = built.step else {
            return (Vec::new(), rejected);
        };
        drop(best);
        self.block = block;
        self.pool.on_step(&transactions, &diff);
        (transactions, rejected)
    }

    fn hashes(&mut self, limits: StepLimits) -> Vec<B256> {
        self.step(limits).iter().map(|transaction| transaction.hash()).collect()
    }
}

/// Returns the limits of a step that is made `left` milliseconds before the end of its block.
fn timed(left: u64) -> StepLimits {
    let share = BlockShare::for_step(Duration::from_millis(left), Duration::from_millis(200), BLOCK_TIME);
    StepLimits { share, ..StepLimits::default() }
}

fn sized() -> StepLimits {
    StepLimits { result_bytes: StepLimits::RESULT_BYTES, ..StepLimits::default() }
}

/// Stops every transaction before its first instruction.
fn without_time() -> StepLimits {
    StepLimits { transaction_time: Some(Duration::ZERO), ..StepLimits::default() }
}

#[test]
fn a_full_block_keeps_room_for_a_later_transaction() {
    let mut building = Building::new();
    for wallet in 0..30 {
        building.submit(wallet, BURNER, MAX_GAS, 1);
    }
    // A tenth of 400,000,000 gas.
    assert_eq!(building.step(timed(2_000)).len(), 2);
    let later = building.submit_transfer(30, 1_000_000);
    let second = building.hashes(timed(1_800));
    assert_eq!(second[0], later);
    assert_eq!(second.len(), 3);
    // The last step may use the rest: 400,000,000 / 2^24 is 23.
    assert_eq!(building.step(timed(200)).len(), 23 - 4);
}

#[test]
fn a_lone_transaction_may_exceed_the_share_of_a_step() {
    let mut building = Building::new();
    let share = BlockShare::for_step(BLOCK_TIME, Duration::from_millis(50), BLOCK_TIME);
    let limits = StepLimits { share, ..StepLimits::default() };
    let large = building.submit(0, BURNER, MAX_GAS, 1);
    assert_eq!(building.hashes(limits), [large]);
    building.submit(1, BURNER, MAX_GAS, 1);
    // The shares so far are used up until more time has passed.
    assert_eq!(building.step(limits).len(), 0);
    assert_eq!(building.step(timed(1_000)).len(), 1);
}

#[test]
fn shares_add_up_to_a_large_transaction_while_others_wait() {
    let mut building = Building::new();
    let step = Duration::from_millis(50);
    let large = building.submit(0, BURNER, MAX_GAS, 1_000);
    for wallet in 1..30 {
        building.submit(wallet, BURNER, 2_000_000, 1);
    }
    let at = (0..40).position(|index| {
        let share = BlockShare::for_step(BLOCK_TIME.saturating_sub(step * index), step, BLOCK_TIME);
        building.hashes(StepLimits { share, ..StepLimits::default() }).contains(&large)
    });
    // 10,000,000 gas a step, half of which the others may use meanwhile.
    assert!(matches!(at, Some(1..=3)), "{at:?}");
}

#[test]
fn a_result_larger_than_a_step_is_alone_and_never_twice_in_a_row() {
    let mut building = Building::new();
    for wallet in 0..3 {
        building.submit(wallet, LOGGER, MAX_GAS, 10);
    }
    let transfers: Vec<_> = (10..20).map(|wallet| building.submit_transfer(wallet, 1)).collect();
    let steps: Vec<_> = (0..6).map(|_| building.step(sized())).collect();
    let sizes: Vec<_> = steps.iter().map(Vec::len).collect();
    // Without other transactions, large ones follow each other.
    assert_eq!(sizes, [1, 10, 1, 1, 0, 0]);
    assert_eq!(steps[1].iter().map(|one| one.hash()).collect::<Vec<_>>(), transfers);
}

#[test]
fn results_of_a_step_stay_within_the_limit() {
    let mut building = Building::new();
    for wallet in 0..6 {
        building.submit(wallet, LOGGER, 6_000_000, 10);
    }
    // Each has some 15,800 logs, 7 MB.
    let sizes: Vec<_> = (0..4).map(|_| building.step(sized()).len()).collect();
    assert_eq!(sizes, [2, 2, 2, 0]);
}

#[test]
fn a_slow_transaction_is_added_without_another_execution() {
    let mut building = Building::new();
    let slow = building.submit(0, COUNTER, 100_000, 10);
    assert_eq!(building.step(without_time()).len(), 0);
    let interrupted = building.deferred.drain_interrupted();
    assert_eq!(interrupted.iter().map(|one| one.hash()).collect::<Vec<_>>(), [slow]);
    // It is not started again.
    assert_eq!(building.step(without_time()).len(), 0);
    assert!(building.deferred.drain_interrupted().is_empty());
    let prepared = building.block.prepare(interrupted[0].clone(), &NoBlockHashes).unwrap();
    let transfer = building.submit_transfer(1, 10);
    let before = building.block.clone();
    let transfers = building.step(StepLimits::default());
    assert_eq!(transfers[0].hash(), transfer);
    building.deferred.add_prepared(prepared);
    assert_eq!(building.hashes(without_time()), [slow]);
    // The result is that of an execution in this place, the fee recipient's balance included.
    let (direct, _) = before.include(&transfers, &NoBlockHashes).unwrap().step.unwrap();
    let (direct, _) = direct.include(&interrupted, &NoBlockHashes).unwrap().step.unwrap();
    assert_eq!(building.block.hash(), direct.hash());
}

#[test]
fn a_stopped_transaction_is_replaceable_once_it_is_released() {
    let mut building = Building::new();
    let slow = building.submit(0, COUNTER, 100_000, 10);
    building.step(without_time());
    // Otherwise a replacement would make the stopped execution free.
    let fees = Fees { max_fee: 2 * Fees::default().max_fee, tip: 20 };
    let raw = building.wallets[0].transfer(0, Address::repeat_byte(7), 1, fees);
    let rejected = try_submit(&building.pool, &building.spec, &building.block, &raw).unwrap_err();
    assert_eq!(rejected, PoolError::NonceTooLow { nonce: 0, account_nonce: 1, next_nonce: 1 });
    building.deferred.release(&slow);
    building.pool.release_held(|hash| building.deferred.is_slow(hash));
    let replacement = submit(&building.pool, &building.spec, &building.block, &raw);
    assert_eq!(building.hashes(StepLimits::default()), [replacement]);
}

#[test]
fn a_transaction_that_does_not_fit_is_replaceable() {
    let mut building = Building::new();
    for wallet in 0..30 {
        building.submit(wallet, BURNER, MAX_GAS, 1);
    }
    let included = building.hashes(timed(2_000)).len();
    let fees = Fees { max_fee: 2 * Fees::default().max_fee, tip: 20 };
    let replaced = building.wallets[included..30].iter().filter(|wallet| {
        let raw = wallet.transfer(0, Address::repeat_byte(7), 1, fees);
        try_submit(&building.pool, &building.spec, &building.block, &raw).is_ok()
    });
    // The one above the share of the step may still be added until the step ends.
    assert!(replaced.count() >= 30 - included - 1);
}

#[test]
fn after_a_stopped_transaction_a_step_begins_short_ones_only() {
    let mut building = Building::new();
    let long = StepLimits::SHORT_GAS + 1;
    building.submit(0, COUNTER, long, 9);
    building.submit(1, COUNTER, long, 8);
    building.submit_transfer(2, 7);
    building.submit_transfer(3, 6);
    assert_eq!(building.step(without_time()).len(), 0);
    // The second long one waits for the next step and keeps its place in the pool's order.
    let stopped = |building: &mut Building| building.deferred.drain_interrupted().len();
    assert_eq!(stopped(&mut building), 3);
    assert_eq!(building.step(without_time()).len(), 0);
    assert_eq!(stopped(&mut building), 1);
}

/// Without this, the executions that others have made outdated would be free, again and again.
#[test]
fn a_restricted_sender_has_short_transactions_only() {
    let mut building = Building::new();
    let number = building.block.header().number;
    let long = building.submit(0, COUNTER, StepLimits::SHORT_GAS + 1, 9);
    let short = building.submit(1, COUNTER, StepLimits::SHORT_GAS, 8);
    let patient = StepLimits { transaction_time: Some(Duration::from_mins(10)), ..StepLimits::default() };
    for wallet in [0, 1] {
        building.deferred.restrict(building.wallets[wallet].address, number);
    }
    let (included, rejected) = building.step_with_rejected(patient);
    assert_eq!(included.iter().map(|one| one.hash()).collect::<Vec<_>>(), [short]);
    let [(hash, RejectedTransaction::Other(reason))] = &rejected[..] else { panic!("{rejected:?}") };
    assert_eq!(*hash, long);
    assert!(reason.contains("up to block 1, its transactions may have at most 1048576 gas"), "{reason}");
    // The restriction ends, and a step without limits of time has none.
    assert_eq!(building.hashes(StepLimits::default()), [long]);
    let later = building.submit(2, COUNTER, StepLimits::SHORT_GAS + 1, 9);
    building.deferred.restrict(building.wallets[2].address, number - 1);
    assert_eq!(building.hashes(patient), [later]);
}

#[test]
fn a_slow_transaction_whose_reads_changed_is_returned() {
    let mut building = Building::new();
    let slow = building.submit(0, COUNTER, 100_000, 10);
    building.step(without_time());
    let interrupted = building.deferred.drain_interrupted();
    let prepared = building.block.prepare(interrupted[0].clone(), &NoBlockHashes).unwrap();
    let other = building.submit(1, COUNTER, 100_000, 10);
    assert_eq!(building.hashes(StepLimits::default()), [other]);
    building.deferred.add_prepared(prepared);
    assert!(building.hashes(StepLimits::default()).is_empty());
    let outdated = building.deferred.take_outdated().unwrap();
    assert_eq!(outdated.hash(), slow);
    // It is executed again elsewhere, and still not in a step.
    assert!(building.hashes(StepLimits::default()).is_empty());
    let prepared = building.block.prepare(outdated, &NoBlockHashes).unwrap();
    building.deferred.add_prepared(prepared);
    assert_eq!(building.hashes(without_time()), [slow]);
    assert!(building.deferred.take_outdated().is_none());
    let value = building.block.state().storage(&COUNTER, &U256::ZERO).unwrap();
    assert_eq!(value, U256::from(2));
}

#[test]
fn a_result_for_another_block_is_not_used() {
    let mut building = Building::new();
    let slow = building.submit(0, COUNTER, 100_000, 10);
    building.step(without_time());
    let interrupted = building.deferred.drain_interrupted();
    let mut genesis = test_genesis(&building.wallets);
    genesis.alloc.insert(
        COUNTER,
        GenesisAccount { nonce: Some(1), code: Some(Bytes::from_static(&[0x00])), ..Default::default() },
    );
    // The result of code that does nothing.
    let (_, other, _) = open_block(genesis);
    let prepared = other.prepare(interrupted[0].clone(), &NoBlockHashes).unwrap();
    building.deferred.add_prepared(prepared);
    assert!(building.hashes(StepLimits::default()).is_empty());
    assert_eq!(building.deferred.take_outdated().map(|one| one.hash()), Some(slow));
    let value = building.block.state().storage(&COUNTER, &U256::ZERO).unwrap();
    assert_eq!(value, U256::ZERO);
}
