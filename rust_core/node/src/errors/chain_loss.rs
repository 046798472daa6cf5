//! Loss of the journal, as far as other records of the node prove it.

use std::fmt;

use foreseal_journal::ChainTip;
use serde::Serialize;

/// Loss of the journal, as far as the store and the recorded end of the journal prove it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChainLoss {
    /// Sequence number after the newest append that the journal still has.
    pub next: u64,
    /// Number of lost appends.
    pub appends: u64,
    /// First and last number of the sealed blocks that only the store still has.
    pub blocks: Option<(u64, u64)>,
    /// Number of steps in these blocks; `transactions` counts their transactions.
    pub steps: u64,
    pub transactions: u64,
    /// Newest block and step in the recorded end of the journal.
    pub tip: Option<ChainTip>,
    /// Number of the block to which the chain would be unwound.
    pub back_to: Option<u64>,
    /// `true` if the rest of the journal and the store have no block in common, so that no start could use
    /// both.
    pub nothing_shared: bool,
}

impl fmt::Display for ChainLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { next, appends, blocks, steps, transactions, tip, back_to, nothing_shared: _ } = self;
        let last = next.saturating_add(*appends).saturating_sub(1);
        write!(f, "{appends} appends ({next} to {last})")?;
        if let Some((first, end)) = blocks {
            let count = end - first + 1;
            write!(
                f,
                ", {count} sealed blocks ({first} to {end}) with {steps} steps and {transactions} transactions"
            )?;
        }
        if let Some(tip @ ChainTip { step: Some(_), .. }) = tip {
            write!(f, ", the block in progress with {} transactions{tip}", tip.transactions)?;
        } else if let Some(tip) = tip {
            write!(f, "{tip}")?;
        }
        match back_to {
            Some(back_to) => write!(f, "; the store would go back to block {back_to}"),
            None => Ok(()),
        }
    }
}
