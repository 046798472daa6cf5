//! The newest unwinds of a store, for readers of an earlier generation, in this process and in others.

/// Maximum number of entries. Beyond it, the two oldest merge into one that holds for both generations.
const MAX_ENTRIES: usize = 256;
/// Length in bytes of an entry.
const ENTRY: usize = 16;

/// The generation that each unwind began, and the block that it went back to. An unwind to a lower block
/// supersedes the entries before it, so both numbers ascend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct UnwindLog(Vec<(u64, u64)>);

impl UnwindLog {
    /// Adds an unwind. The unwinding transaction stores it: a reader of the
    /// generation also sees the unwinds before it.
    pub fn add(&mut self, generation: u64, to: u64) {
        while self.0.pop_if(|(_, before)| *before >= to).is_some() {}
        self.0.push((generation, to));
        if self.0.len() > MAX_ENTRIES {
            // A reader older than the second entry gets the lower block of the two.
            let (_, lowest) = self.0.remove(0);
            self.0[0].1 = lowest;
        }
    }

    /// Returns the newest block that no unwind since `generation` removed; `None` if there was no unwind.
    pub fn common_block_since(&self, generation: u64) -> Option<u64> {
        self.0.get(self.0.partition_point(|(began, _)| *began <= generation)).map(|(_, to)| *to)
    }

    pub fn encode(&self) -> Vec<u8> {
        let bytes = |(generation, to): &(u64, u64)| [generation.to_be_bytes(), to.to_be_bytes()].concat();
        self.0.iter().flat_map(bytes).collect()
    }

    /// Decodes the entries. Returns `None` unless they are complete.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let entries = bytes.chunks_exact(ENTRY);
        if !entries.remainder().is_empty() {
            return None;
        }
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes);
        let entry = |bytes: &[u8]| Ok((number(&bytes[..8])?, number(&bytes[8..])?));
        let entries: Result<Vec<_>, std::array::TryFromSliceError> = entries.map(entry).collect();
        entries.ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn the_lowest_unwound_block_since_a_generation_is_found(blocks in vec(0u64..20, 0..40)) {
            let mut unwinds = UnwindLog::default();
            for (generation, to) in (1..).zip(&blocks) {
                unwinds.add(generation, *to);
            }
            for generation in 0..=blocks.len() {
                let lowest = blocks[generation..].iter().min().copied();
                prop_assert_eq!(unwinds.common_block_since(generation as u64), lowest);
            }
            prop_assert_eq!(UnwindLog::decode(&unwinds.encode()), Some(unwinds));
        }
    }

    #[test]
    fn pruned_nodes_are_reported_as_unavailable() {
        let mut unwinds = UnwindLog::default();
        let count = MAX_ENTRIES as u64 + 50;
        for generation in 1..=count {
            unwinds.add(generation, 10 * generation);
        }
        assert_eq!(unwinds.0.len(), MAX_ENTRIES);
        for generation in 0..count {
            let (exact, reported) = (10 * (generation + 1), unwinds.common_block_since(generation));
            // The oldest entry also represents the entries merged into it.
            let retained = generation > 50;
            assert!(
                if retained {
                    reported == Some(exact)
                } else {
                    reported <= Some(exact) && reported.is_some()
                },
                "{generation}"
            );
        }
        assert_eq!(unwinds.common_block_since(count), None);
    }

    #[test]
    fn an_incomplete_entry_is_damage() {
        assert_eq!(UnwindLog::decode(&[0; 24]), None);
    }
}
