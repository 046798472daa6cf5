//! Number of records that the quorum store retains.

use std::collections::VecDeque;

use crate::{quorum_keys::PART_SIZE, record_listing::ListedRecord};

/// Number of newest records that are retained if the size allows it.
pub(crate) const MIN_RETAINED_RECORDS: u64 = 300;
/// Maximum bytes of retained records. A standby that needs older ones restarts from a backup.
const MAX_RETAINED_BYTES: u64 = 512 << 20;
/// Number of appends between trims.
const TRIM_INTERVAL: u64 = 64;

/// Sizes of the retained records, and the rule that decides which of them to delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct Retention {
    records: VecDeque<RetainedRecord>,
    bytes: u64,
    /// Appends since the last trim.
    appends: u64,
    /// `true` once the records of earlier owners are included.
    has_earlier: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RetainedRecord {
    sequence: u64,
    bytes: u64,
}

impl Retention {
    /// Adds the next record.
    pub fn push(&mut self, sequence: u64, bytes: u64) {
        self.records.push_back(RetainedRecord { sequence, bytes });
        self.bytes = self.bytes.saturating_add(bytes);
        self.appends += 1;
    }

    /// Returns the sequence number of the oldest record if those of earlier owners are not included yet.
    pub fn first_without_earlier(&self) -> Option<u64> {
        self.records.front().filter(|_| !self.has_earlier).map(|record| record.sequence)
    }

    /// Adds the records of earlier owners. Their last parts count as the average of this owner's records, whose sizes
    /// are exact.
    pub fn add_earlier(&mut self, records: &[ListedRecord]) {
        let average = self.bytes.checked_div(self.records.len() as u64).unwrap_or(0).min(PART_SIZE as u64);
        for record in records.iter().rev() {
            let full_parts = u64::from(record.parts.saturating_sub(1));
            let bytes = full_parts.saturating_mul(PART_SIZE as u64).saturating_add(average);
            self.records.push_front(RetainedRecord { sequence: record.sequence, bytes });
            self.bytes = self.bytes.saturating_add(bytes);
        }
        self.has_earlier = true;
    }

    /// Returns the bytes of all retained records.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns `true` if the number of appends or the size requires a trim.
    pub fn is_due(&self) -> bool {
        self.appends >= TRIM_INTERVAL || self.bytes > MAX_RETAINED_BYTES
    }

    /// Removes the records below `first` after their deletion from the quorum store.
    pub fn trim(&mut self, first: u64) {
        while let Some(record) = self.records.pop_front_if(|record| record.sequence < first) {
            self.bytes = self.bytes.saturating_sub(record.bytes);
        }
        self.appends = 0;
    }

    /// Waits for the next interval, because a member needs the oldest records.
    pub fn defer(&mut self) {
        self.appends = 0;
    }

    /// Returns the first sequence number to retain if there are older records: the newest 300 records and what a
    /// member lacks, at most 512 MiB, and at least the newest record. `positions` are the next sequence numbers of
    /// the members.
    pub fn first_retained(&self, positions: &[u64]) -> Option<u64> {
        let (oldest, newest) = (self.records.front()?.sequence, self.records.back()?.sequence);
        let recent = newest.saturating_sub(MIN_RETAINED_RECORDS - 1);
        // A member that needs removed records cannot read the others before it has caught up in another way.
        let readable = positions.iter().copied().filter(|position| *position >= oldest);
        let needed = readable.fold(recent, u64::min);
        let mut bytes = 0_u64;
        let mut first = newest;
        for record in self.records.iter().rev() {
            bytes = bytes.saturating_add(record.bytes);
            if record.sequence != newest && (bytes > MAX_RETAINED_BYTES || record.sequence < needed) {
                break;
            }
            first = record.sequence;
        }
        Some(first).filter(|first| *first > oldest)
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
        assert_eq!(retention(1000, 10).first_retained(&[]), Some(700));
        assert_eq!(retention(1000, 10).first_retained(&[900, 2000]), Some(700));
    }

    #[test]
    fn records_that_a_member_lacks_are_retained() {
        assert_eq!(retention(1000, 10).first_retained(&[900, 250]), Some(250));
        assert_eq!(retention(1000, 10).first_retained(&[0]), None);
    }

    #[test]
    fn member_that_needs_removed_records_holds_nothing_back() {
        let mut retention = retention(1000, 10);
        retention.trim(100);
        assert_eq!(retention.first_retained(&[99]), Some(700));
        assert_eq!(retention.first_retained(&[99, 650]), Some(650));
        assert_eq!(retention.first_retained(&[100]), None);
    }

    #[test]
    fn bytes_limit_how_much_a_member_holds_back() {
        let size = MAX_RETAINED_BYTES / 100;
        assert_eq!(retention(1000, size).first_retained(&[0]), Some(900));
        assert_eq!(retention(2, MAX_RETAINED_BYTES).first_retained(&[0]), Some(1));
    }

    #[test]
    fn trims_are_due_after_an_interval_of_appends() {
        let mut retention = retention(363, 10);
        assert!(retention.is_due());
        assert_eq!(retention.first_retained(&[]), Some(63));
        retention.trim(63);
        assert_eq!((retention.bytes(), retention.is_due()), (3000, false));
        (0..TRIM_INTERVAL - 1).for_each(|n| retention.push(363 + n, 10));
        assert!(!retention.is_due());
        retention.push(426, 10);
        assert!(retention.is_due());
        assert_eq!(retention.first_retained(&[]), Some(127));
    }

    #[test]
    fn size_over_the_limit_is_trimmed_at_once() {
        let retention = retention(3, MAX_RETAINED_BYTES / 2);
        assert!(retention.is_due());
        assert_eq!(retention.first_retained(&[0]), Some(1));
    }

    #[test]
    fn records_of_earlier_owners_count() {
        let mut retention = Retention::default();
        (1000..1064).for_each(|sequence| retention.push(sequence, 10));
        assert_eq!(retention.first_without_earlier(), Some(1000));
        let parts = |sequence| if sequence == 999 { 3 } else { 1 };
        let earlier: Vec<_> =
            (500..1000).map(|sequence| ListedRecord { sequence, parts: parts(sequence) }).collect();
        retention.add_earlier(&earlier);
        assert_eq!(retention.first_without_earlier(), None);
        assert_eq!(retention.bytes(), 564 * 10 + 2 * PART_SIZE as u64);
        assert_eq!(retention.first_retained(&[]), Some(764));
        assert_eq!(retention.first_retained(&[499, 600]), Some(600));
    }
}
