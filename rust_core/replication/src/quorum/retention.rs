//! Number of records that the engine retains.

use std::collections::VecDeque;

/// Number of newest records that are retained if the size allows it.
pub const MIN_RETAINED_RECORDS: u64 = 300;
/// Maximum bytes of retained records. A standby that needs older ones restarts from a backup.
pub const MAX_RETAINED_BYTES: u64 = 512 << 20;
/// Number of appends between trims.
pub const TRIM_INTERVAL: u64 = 64;

/// Sizes of the retained records, and the rule that decides which of them to delete.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    records: VecDeque<RetainedRecord>,
    bytes: u64,
    /// Appends since the last trim.
    appends: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RetainedRecord {
    sequence: u64,
    bytes: u64,
}

impl Retention {
    /// Adds the next record. The records of an earlier owner are removed with the first trim: it deletes all
    /// records below the first retained one.
    pub fn push(&mut self, sequence: u64, bytes: u64) {
        self.records.push_back(RetainedRecord { sequence, bytes });
        self.bytes = self.bytes.saturating_add(bytes);
        self.appends += 1;
    }

    /// Returns the bytes of all retained records.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the first sequence number to retain if a trim is due. `positions` are the next sequence numbers
    /// of the registered members and of the backup.
    pub fn due(&self, positions: &[u64]) -> Option<u64> {
        if self.appends < TRIM_INTERVAL && self.bytes <= MAX_RETAINED_BYTES {
            return None;
        }
        let oldest = self.records.front()?.sequence;
        Some(self.first_retained(positions)?).filter(|first| *first > oldest)
    }

    /// Removes the records below `first` after their deletion from the engine.
    pub fn trim(&mut self, first: u64) {
        while let Some(record) = self.records.pop_front_if(|record| record.sequence < first) {
            self.bytes -= record.bytes;
        }
        self.appends = 0;
    }

    /// Waits for the next interval, because a member needs the oldest records.
    pub fn defer(&mut self) {
        self.appends = 0;
    }

    /// Returns the first sequence number to retain: the newest 300 records and what a member lacks, at most
    /// 512 MiB, and at least the newest record.
    fn first_retained(&self, positions: &[u64]) -> Option<u64> {
        let newest = self.records.back()?.sequence;
        let recent = newest.saturating_sub(MIN_RETAINED_RECORDS - 1);
        let needed = positions.iter().copied().fold(recent, u64::min);
        let mut bytes = 0_u64;
        let mut first = newest;
        for record in self.records.iter().rev() {
            bytes = bytes.saturating_add(record.bytes);
            if record.sequence != newest && (bytes > MAX_RETAINED_BYTES || record.sequence < needed) {
                break;
            }
            first = record.sequence;
        }
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retention(count: u64, bytes: u64) -> Retention {
        let mut retention = Retention::default();
        (0..count).for_each(|sequence| retention.push(sequence, bytes));
        retention
    }

    #[test]
    fn newest_records_are_retained() {
        assert_eq!(retention(1000, 10).due(&[]), Some(700));
        assert_eq!(retention(1000, 10).due(&[900, 2000]), Some(700));
    }

    #[test]
    fn records_that_a_member_lacks_are_retained() {
        assert_eq!(retention(1000, 10).due(&[900, 250]), Some(250));
        assert_eq!(retention(1000, 10).due(&[0]), None);
    }

    #[test]
    fn bytes_limit_what_a_member_can_hold_back() {
        let size = MAX_RETAINED_BYTES / 100;
        assert_eq!(retention(1000, size).due(&[0]), Some(900));
        assert_eq!(retention(2, MAX_RETAINED_BYTES).due(&[0]), Some(1));
    }

    #[test]
    fn trims_are_due_after_an_interval_of_appends() {
        let mut retention = retention(363, 10);
        assert_eq!(retention.due(&[]), Some(63));
        retention.trim(63);
        assert_eq!((retention.bytes(), retention.due(&[])), (3000, None));
        (0..TRIM_INTERVAL - 1).for_each(|n| retention.push(363 + n, 10));
        assert_eq!(retention.due(&[]), None);
        retention.push(426, 10);
        assert_eq!(retention.due(&[]), Some(127));
    }

    #[test]
    fn size_over_the_limit_is_trimmed_at_once() {
        let retention = retention(3, MAX_RETAINED_BYTES / 2);
        assert_eq!(retention.due(&[0]), Some(1));
    }
}
