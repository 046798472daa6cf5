//! Steps, as encoded in the journal and the feed.

use foreseal_primitives::Flashblock;

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "flashblock",
    longest: 1024,
    memory: Memory { fixed: 1 << 14, each: 512 },
    prepare: nothing,
    run,
};

/// Checks that a decoded step is the same after encoding, and that its hash is that of its header.
fn run(input: &[u8]) {
    let Ok(step) = Flashblock::decode(input) else { return };
    assert_eq!(step.hash, step.header.hash_slow());
    let encoded = step.encode();
    let again = Flashblock::decode(&encoded).expect("what was encoded decodes");
    assert_eq!(again.encode(), encoded);
    assert_eq!((again.hash, again.signature), (step.hash, step.signature));
    assert_eq!((&again.diff, &again.end_of_block_diff), (&step.diff, &step.end_of_block_diff));
    assert_eq!((&again.transactions, &again.receipts), (&step.transactions, &step.receipts));
    assert_eq!(encoded, input, "a step has one encoding");
}
