//! Sizes of results, computed before they are rendered.
//!
//! ```text
//! counts of the block --> lower bound --> rejected: nothing was read
//! its content         --> lower bound --> rejected: nothing was rendered
//!                     --> upper bound --> moved off the receiving thread, and charged to the budget of large results
//! ```
//!
//! The bounds of logs and inputs differ by less than a quarter. A result whose size is between its bounds and the limit
//! is checked again after it is rendered, so that the limit is exact.

use std::iter::Sum;

use alloy_consensus::Transaction as _;
use alloy_primitives::Log;
use foreseal_chain::BlockCounts;
use foreseal_primitives::{Block, Receipt, Transaction, receipt_json_size, transaction_json_size};

/// Lower bound of the size of a log as JSON, in bytes.
pub const MIN_LOG: usize = 348;
/// Lower bound of the size of a receipt without its logs as JSON, in bytes.
pub const MIN_RECEIPT: usize = 934;
/// Lower bound of the size of a transaction without its input as JSON, in bytes.
pub const MIN_TRANSACTION: usize = 335;
/// Lower bound of the size of a topic as JSON, in bytes.
const MIN_TOPIC: usize = 68;
/// Lower bound of the size of a log in an encoded receipt in hex, in bytes.
pub const MIN_RAW_LOG: usize = 48;
/// Upper bound of the size of a block without its lists as JSON, in bytes.
const BLOCK: usize = 2560;
/// Size of a hash in a list, in bytes, without and with a comma.
const MIN_HASH: usize = 68;
const HASH: usize = MIN_HASH + SEPARATOR;
/// Comma between items.
const SEPARATOR: usize = 1;
/// Upper bound of the size of a withdrawal as JSON, in bytes.
const WITHDRAWAL: usize = 180;
/// Upper bounds of the lengths of an encoded receipt without logs, of an encoded log without topics and data, and of a
/// topic, in bytes.
const RAW_RECEIPT: usize = 340;
const RAW_LOG: usize = 40;
const RAW_WORD: usize = 33;
/// Quotes and prefix of bytes in hex.
const QUOTES: usize = 4;

/// Bounds of the size of a result that is not rendered yet, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeBounds {
    pub min: usize,
    pub max: usize,
}

impl SizeBounds {
    /// Returns the bounds of a size that is exact.
    pub fn exact(size: usize) -> Self {
        Self { min: size, max: size }
    }

    /// Returns the bounds of a receipt.
    pub fn receipt(receipt: &Receipt) -> Self {
        let logs = receipt.logs.iter().map(min_log_size).sum::<usize>();
        Self { min: MIN_RECEIPT + logs, max: receipt_json_size(receipt) }
    }

    /// Returns the bounds of a transaction.
    pub fn transaction(transaction: &Transaction) -> Self {
        let min = MIN_TRANSACTION + 2 * transaction.envelope().input().len();
        Self { min, max: transaction_json_size(transaction) }
    }

    /// Returns the bounds of a block, with its transactions in full or as hashes.
    pub fn block(block: &Block, full: bool) -> Self {
        let transactions = if full {
            block.transactions.iter().map(|transaction| Self::transaction(transaction)).sum()
        } else {
            Self { min: MIN_HASH * block.transactions.len(), max: HASH * block.transactions.len() }
        };
        let withdrawals = block.withdrawals.as_ref().map_or(0, |withdrawals| WITHDRAWAL * withdrawals.len());
        let rest = BLOCK + data_size(block.header.extra_data.len()) + HASH * block.uncles.len();
        Self { min: transactions.min, max: transactions.max + withdrawals + rest }
    }

    /// Returns the bounds of a block's receipts.
    pub fn receipts(block: &Block) -> Self {
        let receipts: Self = block.receipts.iter().map(|receipt| Self::receipt(receipt)).sum();
        receipts.plus(SEPARATOR * block.receipts.len() + 2)
    }

    /// Returns the bounds of a block's encoded receipts.
    pub fn raw_receipts(block: &Block) -> Self {
        let receipts = block.receipts.iter().map(|receipt| Self {
            min: data_size(receipt.logs.iter().map(|log| log.data.data.len()).sum()),
            max: data_size(max_raw_receipt(receipt)) + SEPARATOR,
        });
        receipts.sum::<Self>().plus(2)
    }

    /// Returns these bounds with an upper bound that is higher by `size`.
    pub fn plus(self, size: usize) -> Self {
        Self { max: self.max.saturating_add(size), ..self }
    }
}

impl Sum for SizeBounds {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            min: sum.min.saturating_add(one.min),
            max: sum.max.saturating_add(one.max),
        })
    }
}

/// Returns a lower bound of the size of a log as JSON.
pub fn min_log_size(log: &Log) -> usize {
    MIN_LOG + MIN_TOPIC * log.topics().len() + 2 * log.data.data.len()
}

/// Returns the size of bytes in hex as a JSON string.
pub fn data_size(length: usize) -> usize {
    length.saturating_mul(2).saturating_add(QUOTES)
}

/// Returns a lower bound of the size of a block's receipts.
pub fn min_receipts_size(counts: &BlockCounts) -> usize {
    min_logs_size(counts.logs, MIN_LOG).saturating_add(MIN_RECEIPT.saturating_mul(counts.transactions))
}

/// Returns a lower bound of the size of a block's encoded receipts.
pub fn min_raw_receipts_size(counts: &BlockCounts) -> usize {
    min_logs_size(counts.logs, MIN_RAW_LOG)
}

/// Returns a lower bound of the size of a block, with its transactions in full or as hashes. The JSON of a transaction
/// is more than twice its encoding.
pub fn min_block_size(counts: &BlockCounts, full: bool) -> usize {
    if !full {
        return MIN_HASH.saturating_mul(counts.transactions);
    }
    let (length, count) = (counts.transactions_length, counts.transactions);
    length.saturating_mul(2).max(MIN_TRANSACTION.saturating_mul(count))
}

/// Returns a lower bound of the size of this number of logs.
pub fn min_logs_size(logs: u64, each: usize) -> usize {
    usize::try_from(logs).unwrap_or(usize::MAX).saturating_mul(each)
}

/// Returns an upper bound of the length of an encoded receipt.
fn max_raw_receipt(receipt: &Receipt) -> usize {
    let logs = receipt.logs.iter().map(|log| RAW_LOG + RAW_WORD * log.topics().len() + log.data.data.len());
    RAW_RECEIPT + logs.sum::<usize>()
}
