//! Journal positions of blocks, which decide what the journal may discard.

use std::collections::VecDeque;

use foreseal_chain::JournalCheckpoint;

/// Number of marks within the retention period of the journal.
const MARKS: u64 = 32;

/// Journal positions of some of the newest blocks, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct JournalCheckpoints {
    list: VecDeque<JournalCheckpoint>,
    /// Number of blocks for which the journal is retained after the store has them.
    retention: u64,
}

impl JournalCheckpoints {
    pub fn new(list: Vec<JournalCheckpoint>, retention: u64) -> Self {
        Self { list: list.into(), retention }
    }

    /// Records that append `sequence` of the journal sealed block `number`, unless the last mark is too
    /// close.
    pub fn add(&mut self, number: u64, sequence: u64) {
        let apart = (self.retention / MARKS).max(1);
        if self.list.back().is_none_or(|last| last.number.saturating_add(apart) <= number) {
            self.list.push_back(JournalCheckpoint { number, sequence });
        }
    }

    /// Drops the marks of blocks above `number` after an unwind to that block.
    pub fn unwind(&mut self, number: u64) {
        self.list.retain(|mark| mark.number <= number);
    }

    /// Returns the append before which nothing is needed any more, given that the store has all blocks up to
    /// `confirmed`. Drops the marks before it.
    pub fn passed(&mut self, confirmed: u64) -> Option<u64> {
        let is_expired = |mark: &JournalCheckpoint| mark.number.saturating_add(self.retention) <= confirmed;
        let count = self.list.iter().take_while(|mark| is_expired(mark)).count();
        self.list.drain(..count.saturating_sub(1));
        self.list.front().filter(|_| count > 0).map(|mark| mark.sequence)
    }

    pub fn list(&self) -> Vec<JournalCheckpoint> {
        self.list.iter().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_is_removable_once_its_blocks_exceed_the_retention() {
        let mut marks = JournalCheckpoints::new(Vec::new(), 64);
        for number in 1..=200 {
            marks.add(number, number * 10);
        }
        assert_eq!(marks.passed(64), None, "block 1 is still kept");
        assert_eq!(marks.passed(65), Some(10));
        assert_eq!(marks.passed(66), Some(10), "a mark for every second block");
        assert_eq!(marks.passed(100), Some(350));
        assert_eq!(marks.list().first(), Some(&JournalCheckpoint { number: 35, sequence: 350 }));
        marks.unwind(50);
        assert_eq!(marks.list().last(), Some(&JournalCheckpoint { number: 49, sequence: 490 }));
        marks.add(51, 3_000);
        assert_eq!(marks.passed(1_000), Some(3_000));
    }

    #[test]
    fn with_zero_retention_only_unstored_appends_are_retained() {
        let mut marks = JournalCheckpoints::new(vec![JournalCheckpoint { number: 3, sequence: 7 }], 0);
        marks.add(4, 9);
        marks.add(5, 11);
        assert_eq!((marks.passed(2), marks.passed(4)), (None, Some(9)));
    }
}
