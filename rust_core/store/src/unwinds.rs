//! The unwinds of a store since it was opened.

use parking_lot::RwLock;

/// The generation that each unwind began, and the block that it went back to. An unwind to a lower block makes those
/// before it superfluous, so both grow from entry to entry.
#[derive(Debug, Default)]
pub(crate) struct Unwinds(RwLock<Vec<(u64, u64)>>);

impl Unwinds {
    /// Must be known before the unwind is: a reader that notices looks here for what is still right.
    pub fn add(&self, generation: u64, to: u64) {
        let mut unwinds = self.0.write();
        while unwinds.pop_if(|(_, before)| *before >= to).is_some() {}
        unwinds.push((generation, to));
    }

    /// The newest block that has not gone since `generation`; `None` if none went.
    pub fn common_since(&self, generation: u64) -> Option<u64> {
        let unwinds = self.0.read();
        unwinds.get(unwinds.partition_point(|(began, _)| *began <= generation)).map(|(_, to)| *to)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn the_lowest_block_since_a_generation(blocks in vec(0u64..20, 0..40)) {
            let unwinds = Unwinds::default();
            for (generation, to) in (1..).zip(&blocks) {
                unwinds.add(generation, *to);
            }
            for generation in 0..=blocks.len() {
                let lowest = blocks[generation..].iter().min().copied();
                prop_assert_eq!(unwinds.common_since(generation as u64), lowest);
            }
        }
    }
}
