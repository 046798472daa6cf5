//! The end of a journal as its writer last recorded it.

use std::{fmt, ops::Range};

use alloy_primitives::B256;
use serde::Serialize;

#[cfg(test)]
use crate::layout::ChainLink;
use crate::{journal_head::imported, record::Record};

/// State of the journal when the mark was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndState {
    /// A writer has the journal open, or was killed.
    Open,
    /// A writer stopped cleanly: no append follows.
    Closed,
    /// A repair accepted the loss of later appends.
    Repaired,
}

/// The newest block and step in the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChainTip {
    /// Number and hash of the newest sealed block; `None` if no append since has named one.
    pub block: Option<(u64, B256)>,
    /// Block number, index and hash of the newest step of the block in progress.
    pub step: Option<(u64, u64, B256)>,
    /// Number of transactions in the block in progress.
    pub transactions: u64,
}

impl fmt::Display for ChainTip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((number, index, hash)) = self.step {
            return write!(f, " (block {number}, step {index} {hash})");
        }
        match self.block {
            Some((number, hash)) => write!(f, " (sealed block {number} {hash})"),
            None => Ok(()),
        }
    }
}

/// The recorded end of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedEnd {
    pub state: EndState,
    /// Number of times that the journal was opened for writing.
    pub epoch: u64,
    /// Random number of the newest writer.
    pub writer_id: [u8; 16],
    /// Sequence number after the newest append.
    pub next: u64,
    /// Hash of the newest append.
    pub hash: B256,
    /// Sequence number from which the newest repair accepted a loss. Appends from there on existed twice.
    pub repaired_at: Option<u64>,
    /// Sequence number after the newest append that the repair discarded.
    pub repaired_end: u64,
    /// `true` if appends have followed the repair: a loss from now on is a new one.
    pub resumed: bool,
    pub tip: ChainTip,
    /// Number of times that the mark was written; the slot with the greater number is newer.
    pub(crate) count: u64,
}

impl RecordedEnd {
    /// Returns `true` if a repair accepted that the journal ends before append `next` and no append has
    /// followed.
    pub fn is_accepted_loss(&self, next: u64) -> bool {
        self.repaired_at == Some(next) && !self.resumed
    }

    /// Returns the sequence numbers of the appends that the newest repair discarded.
    pub fn discarded_before(&self) -> Range<u64> {
        self.repaired_at.map_or(0..0, |from| from..self.repaired_end)
    }

    #[cfg(test)]
    pub(crate) fn chain(&self) -> ChainLink {
        ChainLink { sequence: self.next, previous: self.hash }
    }
}

impl ChainTip {
    /// Updates the tip with a record that was appended.
    pub(crate) fn apply(&mut self, record: &Record) {
        match record {
            Record::Open { .. } => (self.step, self.transactions) = (None, 0),
            Record::Step(step) | Record::Override { step, .. } => {
                let added = u64::try_from(step.transactions.len()).unwrap_or(u64::MAX);
                self.step = Some((step.number, step.index, step.hash));
                self.transactions = self.transactions.saturating_add(added);
            }
            Record::Seal { number, hash } | Record::Unwind { number, hash } => {
                *self = Self { block: Some((*number, *hash)), ..Self::default() };
            }
            Record::Import { block } => {
                let imported = imported(block).map(|head| (head.number, head.hash));
                *self = Self { block: imported.or(self.block), ..Self::default() };
            }
            Record::Clock { .. } | Record::Finality { .. } => {}
        }
    }
}
