//! Replicas apply events and then equal the pool.

use foreseal_pool::{DropReason, PoolConfig, Status};
use foreseal_primitives::wire;
use proptest::prelude::*;

use crate::random_operations::{BLOB, Operation, World, bytes, operation, small};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_copy_equals_its_pool(
        operations in prop::collection::vec(operation(), 1..80),
        limited in any::<bool>(),
    ) {
        let mut world = World::new(&if limited { small() } else { PoolConfig::default() });
        for operation in &operations {
            world.apply(operation);
            world.check();
        }
    }
}

/// All changes under one lock are one event: a copy shows no intermediate state.
#[test]
fn simultaneous_changes_are_one_event() {
    let mut world = World::new(&PoolConfig::default());
    let of = |nonce| Operation::Submit { sender: 0, nonce, max_fee: 5, tip: 1, size: 0, runnable: false };
    for nonce in 0..4 {
        world.apply(&of(nonce));
    }
    assert_eq!(world.events().len(), 4);
    world.apply(&Operation::Include { sender: 0, count: 3, own: false });
    assert_eq!(world.events().len(), 1, "a step");
    world.apply(&Operation::Discard { which: 0, requested: true });
    assert_eq!(world.events().len(), 1, "one that is discarded, with the reason");
    world.apply(&Operation::Unwind { count: 0 });
    assert!(world.events().is_empty(), "nothing happened");
}

#[test]
fn a_closed_copy_and_a_snapshot_get_no_events() {
    let mut world = World::new(&PoolConfig::default());
    let of = |nonce| Operation::Submit { sender: 0, nonce, max_fee: 5, tip: 1, size: 0, runnable: false };
    world.apply(&Operation::Snapshot);
    world.apply(&of(0));
    world.apply(&Operation::Reset);
    assert_eq!(world.events().len(), 2);
    world.apply(&of(1));
    assert_eq!(world.events().len(), 1, "it is still told after the reset");
    world.original.set_sink(None);
    world.apply(&of(2));
    world.apply(&Operation::Reset);
    assert!(world.events().is_empty());
}

/// The sidecar arrives with the transaction, and nothing is signed again.
#[test]
fn a_copy_has_the_sidecar() {
    let mut world = World::new(&PoolConfig::default());
    world.apply(&Operation::SubmitBlob);
    world.check();
    let there = world.first_copy().all();
    assert!(there[0].sidecar().is_some());
    assert_eq!(there[0].encoded(), BLOB.1);
}

/// A transaction that was included, or dropped with a reason, was not lost with the sequencer.
#[test]
fn transactions_unknown_to_a_successor_are_lost() {
    let mut world = World::new(&PoolConfig::default());
    for sender in 0..3 {
        world.apply(&Operation::Submit { sender, nonce: 0, max_fee: 5, tip: 1, size: 0, runnable: false });
        world.check();
    }
    let copy = world.first_copy();
    let before: Vec<_> = copy.all().iter().map(|transaction| transaction.hash()).collect();
    let empty = World::new(&PoolConfig::default()).original.whole_pool_event(|event| bytes(&event));
    copy.apply_from_successor(wire::decode(&empty).unwrap(), |hash| *hash == before[0]);
    assert_eq!(copy.status(&before[0]), Status::Unknown, "the chain knows it");
    let lost = Status::Dropped(DropReason::SequencerReplaced);
    assert_eq!([copy.status(&before[1]), copy.status(&before[2])], [lost.clone(), lost]);
    let counted = |name| copy.metrics().dropped().find(|(reason, _)| *reason == name).unwrap().1;
    assert_eq!(counted("sequencer replaced"), 2);
}
