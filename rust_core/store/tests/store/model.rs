//! Compares the store with a model in memory: writes of any size, unwinds, other branches, restarts.

use std::ops::ControlFlow;

use std::{collections::BTreeMap, path::Path, slice::from_ref, sync::Arc};

use crate::support::{
    Made, Maker, Size,
    dump::{Dump, dump},
    sealed, sealed_with_newest_nodes,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::{Account, StateDiff};
use foreseal_state::{State, StateError, StateStore};
use foreseal_store::{Reader, Store, StoreError, StoreOptions};
use foreseal_trie::EMPTY_ROOT;
use proptest::{collection::vec, prelude::*};
use tempfile::tempdir;

#[derive(Clone, Debug, Default)]
struct ModelState {
    accounts: BTreeMap<Address, (Account, BTreeMap<U256, U256>)>,
    codes: BTreeMap<B256, Bytes>,
}

impl ModelState {
    fn apply(mut self, diff: &StateDiff) -> Self {
        for changed in &diff.accounts {
            let Some(account) = changed.diff.account else {
                self.accounts.remove(&changed.address);
                continue;
            };
            let entry = self.accounts.entry(changed.address).or_default();
            entry.0 = account;
            if changed.diff.wiped {
                entry.1.clear();
            }
            entry.1.extend(changed.diff.storage.iter().copied());
            entry.1.retain(|_, value| !value.is_zero());
        }
        self.codes.extend(diff.codes.iter().map(|new| (new.hash, new.code.clone())));
        self
    }
}

/// The chain that the store must hold.
struct Model {
    chain: Vec<(Made, ModelState)>,
    /// Blocks that were unwound.
    unwound: Vec<Made>,
    generation: u64,
    /// First block that can be proved after the unwinds and the writes without its nodes so far.
    proofs_from: u64,
}

impl Model {
    fn new(genesis: Made) -> Self {
        let state = ModelState::default().apply(&genesis.sealed.diff);
        Self { chain: vec![(genesis, state)], unwound: Vec::new(), generation: 0, proofs_from: 0 }
    }

    fn head(&self) -> &Made {
        &self.chain.last().unwrap().0
    }

    fn push(&mut self, made: Made) {
        let state = self.chain.last().unwrap().1.clone().apply(&made.sealed.diff);
        self.chain.push((made, state));
    }

    fn assert_block(&self, reader: &Reader, made: &Made) {
        let (block, number) = (&made.sealed.block, made.number());
        let stored = reader.block(number).unwrap().unwrap();
        assert_eq!(stored.hash, block.hash);
        assert_eq!(stored.transactions, block.transactions);
        assert_eq!(stored.receipts, block.receipts);
        assert_eq!(reader.number_of(&block.hash).unwrap(), Some(number));
        assert_eq!(reader.steps(number).unwrap().unwrap(), made.sealed.steps);
        for (index, transaction) in (0..).zip(&block.transactions) {
            assert_eq!(reader.transaction_position(&transaction.hash()).unwrap(), Some((number, index)));
        }
        let in_window = self.head().number() < number + STEP_WINDOW;
        for (index, step) in (0..).zip(&made.sealed.steps) {
            let place = in_window.then_some((number, index));
            assert_eq!(reader.step_position(&step.hash).unwrap(), place);
        }
    }

    fn assert_state(reader: &Reader, at: u64, state: &ModelState) {
        let addresses: Vec<Address> = (0..40).map(|seed| Address::left_padding_from(&[seed])).collect();
        let accounts =
            addresses.iter().map(|address| state.accounts.get(address).map(|(account, _)| *account));
        assert_eq!(reader.accounts(&addresses, at).unwrap(), accounts.collect::<Vec<_>>(), "at {at}");
        for address in addresses {
            let expected = state.accounts.get(&address);
            assert_eq!(reader.account(&address, at).unwrap(), expected.map(|(account, _)| *account));
            for slot in (0..30).map(U256::from) {
                let value = expected.and_then(|(_, storage)| storage.get(&slot)).copied().unwrap_or_default();
                assert_eq!(reader.slot(&address, &slot, at).unwrap(), value, "{address} {slot} at {at}");
            }
            let has_storage = expected.is_some_and(|(_, storage)| !storage.is_empty());
            assert_eq!(reader.has_storage(&address, at).unwrap(), has_storage);
        }
        for (hash, code) in &state.codes {
            assert_eq!(reader.code_bytes(hash).unwrap().as_ref(), Some(code));
            assert_eq!(reader.code(hash).unwrap().unwrap().original_bytes(), *code);
        }
    }

    /// Compares proofs, changes and whole tries from the stored nodes of a block with those in memory.
    fn assert_nodes(&self, reader: &Reader, made: &Made, proofs_from: u64) {
        let number = made.number();
        let stored = State::from_store(Arc::new(reader.clone()), number, made.state.root());
        let next = self.chain.get(usize::try_from(number).unwrap() + 1);
        let slots: Vec<U256> = (0..30).step_by(3).map(U256::from).collect();
        for address in (0..40).step_by(7).map(|seed| Address::left_padding_from(&[seed])) {
            let proof = stored.prove_account(&address, &slots);
            // An empty state has nothing to prune.
            if number < proofs_from && made.state.root() != EMPTY_ROOT {
                let pruned = StateError::Pruned { block: number, oldest: proofs_from };
                assert_eq!(proof.unwrap_err(), pruned);
                continue;
            }
            assert_eq!(proof.unwrap(), made.state.prove_account(&address, &slots).unwrap());
        }
        if number < proofs_from {
            return;
        }
        if let Some((next, _)) = next {
            let applied = stored.apply(&next.sealed.diff).unwrap();
            assert_eq!(applied.root(), next.state.root());
            assert_eq!(applied.changes_since(&stored).unwrap(), next.sealed.nodes);
        }
        let accounts: Vec<_> = made.state.iter_accounts().map(Result::unwrap).collect();
        assert!(stored.iter_accounts().map(Result::unwrap).eq(accounts.iter().copied()));
        for account in accounts {
            let slots = |state: &State| -> Vec<_> {
                state.iter_slots(account.hash).unwrap().map(Result::unwrap).collect()
            };
            assert_eq!(slots(&stored), slots(&made.state));
        }
    }

    /// A reader from before an unwind returns cached values of its own
    /// chain, and never values of another chain.
    fn assert_gone(&self, reader: &Reader) {
        for (made, state) in &self.chain {
            for seed in 0..40 {
                let address = Address::left_padding_from(&[seed]);
                let expected = state.accounts.get(&address);
                match reader.account(&address, made.number()) {
                    Ok(account) => assert_eq!(account, expected.map(|(account, _)| *account)),
                    Err(error) => assert_eq!(error, StateError::ViewGone),
                }
                for slot in (0..30).map(U256::from) {
                    let value = expected.and_then(|(_, storage)| storage.get(&slot)).copied();
                    match reader.slot(&address, &slot, made.number()) {
                        Ok(stored) => assert_eq!(stored, value.unwrap_or_default()),
                        Err(error) => assert_eq!(error, StateError::ViewGone),
                    }
                }
            }
        }
    }

    /// Checks all stored data, and that removed data is absent.
    fn assert_stored(&self, store: &Store) {
        let reader = store.reader().unwrap();
        let progress = reader.progress().unwrap();
        assert_eq!(progress.generation, self.generation);
        assert_eq!(progress.head.unwrap().hash, self.head().hash());
        for (made, state) in &self.chain {
            self.assert_block(&reader, made);
            Self::assert_state(&reader, made.number(), state);
            self.assert_nodes(&reader, made, progress.proofs_from);
        }
        // In descending order, a cached value also serves older blocks, down to the block that wrote it.
        for (made, state) in self.chain.iter().rev() {
            Self::assert_state(&reader, made.number(), state);
        }
        let window = self.head().number().saturating_sub(PROOF_WINDOW - 1);
        assert_eq!(progress.proofs_from, self.proofs_from.max(window));
        let next = self.head().number() + 1;
        assert!(reader.block(next).unwrap().is_none());
        for made in &self.unwound {
            assert_eq!(reader.number_of(&made.hash()).unwrap(), None);
            for step in &made.sealed.steps {
                assert_eq!(reader.step_position(&step.hash).unwrap(), None);
            }
            for transaction in &made.sealed.block.transactions {
                assert_eq!(reader.transaction_position(&transaction.hash()).unwrap(), None);
            }
        }
    }
}

const STEP_WINDOW: u64 = 7;
const PROOF_WINDOW: u64 = 4;

fn options(genesis: &Made) -> StoreOptions {
    StoreOptions { step_window: STEP_WINDOW, proof_window: PROOF_WINDOW, ..Maker::options(genesis) }
}

#[derive(Clone, Debug)]
enum Step {
    Write(usize),
    /// Writes blocks with the nodes of the newest one alone.
    WriteNewestNodes(usize),
    /// Unwinds this many blocks, at most to genesis.
    Unwind(usize),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..6_usize).prop_map(Step::Write),
        2 => (1..6_usize).prop_map(Step::WriteNewestNodes),
        2 => (1..9_usize).prop_map(Step::Unwind),
        1 => Just(Step::Reopen),
    ];
    vec(step, 1..14)
}

/// Asserts that each node has the versions of the window, the one before it, and at most one more.
fn assert_needed(dump: &Dump, proofs_from: u64) {
    for name in ["account_nodes", "storage_nodes"] {
        let mut versions: BTreeMap<&[u8], Vec<(u64, bool)>> = BTreeMap::new();
        for (key, node) in &dump[name] {
            let (key_prefix, number) = key.split_last_chunk().unwrap();
            let version = (!u64::from_be_bytes(*number), node.is_empty());
            versions.entry(key_prefix).or_default().push(version);
        }
        for (key_prefix, versions) in versions {
            let old: Vec<_> = versions.iter().filter(|(number, _)| *number <= proofs_from).collect();
            assert!(old.len() <= 2, "{name} {key_prefix:?}: {versions:?}, window from {proofs_from}");
            assert!(
                !old.first().is_some_and(|(_, is_removed)| *is_removed),
                "{name} {key_prefix:?}: {versions:?}"
            );
        }
    }
    let first = dump["node_changes"].keys().next().and_then(|key| key.first_chunk().copied());
    assert!(first.is_none_or(|number| u64::from_be_bytes(number) > proofs_from));
}

/// Compares the store with one to which the chain was written without unwinds.
fn assert_same_as_straight(folder: &Path, model: &Model, proofs_from: u64) {
    let straight = tempdir().unwrap();
    let store = Store::open(straight.path(), options(&model.chain[0].0)).unwrap();
    for (made, _) in &model.chain {
        store.write(from_ref(&made.sealed)).unwrap();
    }
    drop(store);
    let (mut ours, mut theirs) = (dump(folder), dump(straight.path()));
    for dump in [&mut ours, &mut theirs] {
        // `progress` contains the generation, and `unwind_log` its history.
        let meta = dump.get_mut("meta").unwrap();
        meta.remove(b"progress".as_slice()).unwrap();
        meta.remove(b"unwinds".as_slice());
    }
    assert_needed(&ours, proofs_from);
    for (name, table) in ours.iter().filter(|(name, _)| !name.contains("node")) {
        let theirs = &theirs[name];
        assert!(table.keys().eq(theirs.keys()), "keys of {name}");
        assert!(table == theirs, "values of {name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_operations_leave_the_store_equal_to_the_model(seed: u64, steps in steps()) {
        let mut maker = Maker::new(seed, Size::SMALL);
        let genesis = maker.genesis();
        let folder = tempdir().unwrap();
        let options = options(&genesis);
        let mut store = Store::open(folder.path(), options).unwrap();
        store.write(from_ref(&genesis.sealed)).unwrap();
        let mut model = Model::new(genesis);
        for step in steps {
            match step {
                Step::Write(count) => {
                    let made = maker.chain(model.head(), count);
                    store.write(&sealed(&made)).unwrap();
                    for made in made {
                        model.push(made);
                    }
                }
                Step::WriteNewestNodes(count) => {
                    let made = maker.chain(model.head(), count);
                    store.write_newest_nodes(&sealed_with_newest_nodes(model.head(), &made)).unwrap();
                    for made in made {
                        model.push(made);
                    }
                    model.proofs_from = model.head().number();
                }
                Step::Unwind(count) => {
                    let to = model.chain.len().saturating_sub(1 + count);
                    let proofs_from = store.progress().unwrap().proofs_from;
                    model.proofs_from = proofs_from.min(to as u64);
                    let reader = store.reader().unwrap();
                    let before = Model { chain: model.chain.clone(), unwound: Vec::new(), ..model };
                    let metadata = model.chain[to].0.sealed.writer_metadata.clone();
                    store.unwind(to as u64, 1_000, &metadata).unwrap();
                    prop_assert_eq!(store.writer_metadata().unwrap(), metadata);
                    let unwound: Vec<Made> = model.chain.drain(to + 1..).map(|(made, _)| made).collect();
                    if !unwound.is_empty() {
                        model.generation += 1;
                        prop_assert_eq!(reader.block_hash(0).unwrap_err(), StoreError::ViewGone);
                        before.assert_gone(&reader);
                    }
                    prop_assert_eq!(store.progress().unwrap().journal_sequence, 1_000);
                    model.unwound.extend(unwound);
                }
                Step::Reopen => {
                    drop(store);
                    store = Store::open(folder.path(), options).unwrap();
                }
            }
            model.assert_stored(&store);
        }
        prop_assert_eq!(store.verify(&mut |_| ControlFlow::Continue(())).unwrap().faults, vec![]);
        let proofs_from = store.progress().unwrap().proofs_from;
        drop(store);
        assert_same_as_straight(folder.path(), &model, proofs_from);
    }
}
