//! The feed against a naive model: a client that applies the emitted changes always has the chain.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_chain::{BlockAtStep, Change, EventKind, ExecutedBlock, FeedError, StepCursor, View, changes};
use foreseal_primitives::Block;
use proptest::prelude::*;
use support::actions::{Run, act};

/// One entry of the feed's list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Item {
    /// A step, with its own transactions.
    Step(StepCursor, Vec<B256>),
    Sealed(u64, B256),
}

/// Returns the expected items of a block's steps.
fn steps(executed: &ExecutedBlock) -> Vec<Item> {
    let block = &executed.block;
    let hashes: Vec<B256> = block.transactions.iter().map(|one| one.hash()).collect();
    let number = executed.number();
    let mut first = 0;
    let mut items = Vec::new();
    for (index, step) in (0..).zip(&executed.steps) {
        let own = hashes[first..step.transactions].to_vec();
        items.push(Item::Step(StepCursor { number, index, hash: step.hash }, own));
        first = step.transactions;
    }
    if items.is_empty() {
        items.push(Item::Step(StepCursor { number, index: 0, hash: block.hash }, hashes));
    }
    items
}

/// Returns the expected list of items of a view.
fn shown(view: &View) -> Vec<Item> {
    let mut list = Vec::new();
    for number in 0..=view.latest().number() {
        let sealed = view.sealed(number).unwrap().unwrap();
        list.extend(steps(&sealed));
        list.push(Item::Sealed(number, sealed.block.hash));
    }
    list.extend(steps(view.pending()));
    list
}

fn cursor_of(item: &Item) -> StepCursor {
    match item {
        Item::Step(cursor, _) => *cursor,
        Item::Sealed(..) => unreachable!("a list ends with a step"),
    }
}

/// Converts a step to an item, after checking all its fields.
fn item(step: &BlockAtStep) -> Item {
    let BlockAtStep { block, index, first, previous, time, signature } = step;
    let made = block.header.number > 0;
    assert_eq!((*time > 0, signature.is_some()), (made, made));
    assert_eq!(block.hash, block.header.hash_slow());
    assert_eq!(block.transactions.len(), block.receipts.len());
    assert_eq!(block.receipts.last().map_or(0, |last| last.cumulative_gas_used), block.header.gas_used);
    if *index == 0 {
        assert_eq!((*first, *previous), (0, block.header.parent_hash));
    }
    let own = block.transactions.iter().skip(*first).map(|one| one.hash()).collect();
    Item::Step(StepCursor { number: block.header.number, index: *index, hash: block.hash }, own)
}

fn sealed(block: &Block) -> Item {
    Item::Sealed(block.header.number, block.hash)
}

/// A client that follows the feed.
#[derive(Clone, Debug)]
struct Client {
    list: Vec<Item>,
    cursor: StepCursor,
    /// Steps whose removal it has received.
    removed: Vec<StepCursor>,
}

impl Client {
    fn new(list: Vec<Item>) -> Self {
        Self { cursor: cursor_of(list.last().unwrap()), list, removed: Vec::new() }
    }

    fn apply(&mut self, change: &Change, after: StepCursor) {
        match change {
            Change::Step(step) => {
                let previous = self.list.iter().rev().find_map(|item| match item {
                    Item::Step(cursor, _) => Some(cursor.hash),
                    Item::Sealed(..) => None,
                });
                assert_eq!(previous, Some(step.previous), "a step names the one before");
                self.list.push(item(step));
            }
            Change::Sealed(block) => self.list.push(sealed(block)),
            Change::Removed(step) => {
                let item = item(step);
                assert_eq!(self.list.pop().as_ref(), Some(&item), "the newest step is undone");
                self.removed.push(cursor_of(&item));
            }
            Change::Unsealed(block) => assert_eq!(self.list.pop(), Some(sealed(block))),
        }
        self.cursor = after;
    }

    /// Reads to the end of the view, at most `page` changes at a time. Returns the number of changes of
    /// steps.
    fn follow(&mut self, view: &View, page: usize) -> Result<usize, FeedError> {
        let mut count = 0;
        loop {
            let (mut read, from) = (0, self.cursor);
            let reached = changes(view, from, &mut |change, after| {
                self.apply(&change, after);
                read += usize::from(matches!(change, Change::Step(_) | Change::Removed(_)));
                if read < page { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            assert_eq!(reached, self.cursor);
            count += read;
            if read == 0 {
                assert_eq!(reached, view.cursor());
                return Ok(count);
            }
        }
    }
}

/// Returns the length of the common prefix.
fn common(one: &[Item], other: &[Item]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Clients of a test: one for every cursor that was ever shown, in its state at that time.
#[derive(Default)]
struct Seen {
    clients: Vec<Client>,
    /// Lists that led to a cursor, by cursor. State overrides can create several.
    histories: HashMap<StepCursor, Vec<Item>>,
    ambiguous: HashSet<StepCursor>,
}

impl Seen {
    fn record(&mut self, view: &View) {
        let list = shown(view);
        assert_eq!(cursor_of(list.last().unwrap()), view.cursor());
        for end in 1..=list.len() {
            let Item::Step(cursor, _) = list[end - 1] else { continue };
            let history = self.histories.entry(cursor).or_insert_with(|| {
                self.clients.push(Client::new(list[..end].to_vec()));
                list[..end].to_vec()
            });
            if history[..] != list[..end] {
                self.ambiguous.insert(cursor);
            }
        }
    }

    /// Returns `true` if the items that `client` has and `list` has not came about in one way only.
    fn is_plain(&self, client: &Client, list: &[Item]) -> bool {
        let ambiguous =
            |item: &Item| matches!(item, Item::Step(cursor, _) if self.ambiguous.contains(cursor));
        !client.list[common(&client.list, list)..].iter().any(ambiguous)
    }

    /// Checks that every cursor leads to the view, in pages of any size, across restarts too.
    fn check(&self, view: &View) {
        let list = shown(view);
        for client in self.clients.iter().filter(|client| self.is_plain(client, &list)) {
            let mut complete = client.clone();
            let count = complete.follow(view, usize::MAX).unwrap();
            assert_eq!(complete.list, list);
            let shared = common(&client.list, &list);
            let steps = |items: &[Item]| items.iter().filter(|item| matches!(item, Item::Step(..))).count();
            assert_eq!(complete.removed.len(), steps(&client.list[shared..]), "nothing more than had to be");
            assert_eq!(count, complete.removed.len() + steps(&list[shared..]));
            for page in [1, 2, 7] {
                let mut paged = client.clone();
                assert_eq!(paged.follow(view, page).unwrap(), count);
                assert_eq!((&paged.list, &paged.removed), (&complete.list, &complete.removed));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn applying_the_feed_changes_reproduces_the_chain(small: bool, acts in prop::collection::vec(act(), 1..40)) {
        let datadir = tempfile::tempdir().unwrap();
        let mut run = Run::new(datadir.path(), small);
        let mut seen = Seen::default();
        let mut live = Client::new(shown(&run.bench().view()));
        for act in &acts {
            run.act(act);
            let entries = run.bench().node.feed().drain(Duration::ZERO);
            for entry in entries {
                let EventKind::View(view) = entry.what else { continue };
                let list = shown(&view);
                seen.record(&view);
                if seen.is_plain(&live, &list) {
                    live.follow(&view, usize::MAX).unwrap();
                    prop_assert_eq!(&live.list, &list);
                } else {
                    live = Client::new(list);
                }
            }
            let view = run.bench().view();
            prop_assert_eq!(live.cursor, view.cursor());
        }
        seen.check(&run.bench().view());
    }
}
