//! A flashblock in parts: a step larger than one message.
//!
//! ```text
//!   step:    transaction 0, receipt 0 with its logs | transaction 1, receipt 1 ...
//!   parts:   [ header, transaction 0, logs 0..k ] [ logs k.. of receipt 0, transaction 1, ... ] [ ... last ]
//! ```
//!
//! The start of a part is a position in the step, not a number of bytes: a reader continues at it even if the size of
//! parts has changed since.

use std::ops::Range;

use foreseal_chain::BlockAtStep;
use foreseal_primitives::{ChainSpec, Receipt, log_json_size, receipt_json_size, transaction_json_size};

use super::flashblock::{added, write_flashblock, write_step, write_step_head};
use crate::json::{
    BlockOfReceipt, Inclusion, Object, write_logs_of_receipt, write_receipt_part, write_transaction,
};

/// Size in bytes of JSON above which a flashblock is written in parts, and at which a part ends. The item that reaches
/// it is still in the part.
pub const PART_SIZE: usize = 1 << 20;

/// Start of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartStart {
    /// Number of the part.
    pub index: u64,
    /// Transaction at which it starts, counted from the step's first one.
    pub transaction: usize,
    /// Number of logs of this transaction that earlier parts contain. At 0 the part contains the transaction itself.
    pub log: usize,
}

/// A step in the form of the feed, which may need several parts.
#[derive(Clone, Copy)]
pub struct FlashblockParts<'a> {
    pub spec: &'a ChainSpec,
    pub step: &'a BlockAtStep,
    /// `true` if the step is no longer on the chain.
    pub removed: bool,
    /// Size of a part in bytes, see [`PART_SIZE`].
    pub size: usize,
}

/// Transaction of a part.
struct PartItem {
    /// Index in the block.
    transaction: usize,
    logs: Range<usize>,
}

impl PartItem {
    /// Returns `true` if earlier parts contain the transaction and the other fields of its receipt.
    fn is_continued(&self) -> bool {
        self.logs.start > 0
    }
}

impl FlashblockParts<'_> {
    /// Returns `true` if the step has such a position.
    pub fn has(&self, start: PartStart) -> bool {
        let receipt = self.step.first.checked_add(start.transaction).and_then(|at| self.receipt(at));
        start == PartStart::default()
            || receipt.is_some_and(|receipt| start.log == 0 || start.log < receipt.logs.len())
    }

    /// Writes the part that starts at `start`. Returns the start of the next one; `None` after the last.
    pub fn write(&self, out: &mut Vec<u8>, start: PartStart) -> Option<PartStart> {
        if start == PartStart::default() && self.fits() {
            write_flashblock(out, self.spec, self.step, self.removed);
            return None;
        }
        let (items, next) = self.plan(start);
        let block = &self.step.block;
        let mut object = Object::open(out);
        if start.index == 0 {
            write_step_head(&mut object, self.step);
        } else {
            write_step(&mut object, self.step);
        }
        let begun = items.iter().filter(|item| !item.is_continued());
        object.list("transactions", begun, |out, item| {
            let transaction = &block.transactions[item.transaction];
            write_transaction(out, transaction, Some(Inclusion::new(block, item.transaction as u64)));
        });
        let shown = BlockOfReceipt::new(self.spec, block);
        object.list("receipts", &items, |out, item| {
            let (transaction, receipt) =
                (&block.transactions[item.transaction], &block.receipts[item.transaction]);
            let index = item.transaction as u64;
            if item.is_continued() {
                let mut object = Object::open(out);
                object.data("transactionHash", transaction.hash());
                write_logs_of_receipt(&mut object, &shown, index, (transaction, receipt), item.logs.clone());
                object.close();
            } else {
                write_receipt_part(out, &shown, index, (transaction, receipt), item.logs.clone());
            }
        });
        object.json("removed", if self.removed { "true" } else { "false" });
        Object::open(object.name("part"))
            .quantity("index", start.index)
            .json("last", if next.is_none() { "true" } else { "false" })
            .close();
        object.close();
        next
    }

    /// Returns the start of the part after the one at `start`, like [`Self::write`].
    pub fn next(&self, start: PartStart) -> Option<PartStart> {
        if start == PartStart::default() && self.fits() { None } else { self.plan(start).1 }
    }

    /// Returns `true` if the whole flashblock is one message.
    fn fits(&self) -> bool {
        let mut size = 0_usize;
        added(&self.step.block, self.step.first).all(|at| {
            let receipt = self.receipt(at).map_or(0, receipt_json_size);
            size = size.saturating_add(self.transaction_size(at)).saturating_add(receipt);
            size <= self.size
        })
    }

    /// Returns the items of the part that starts at `start`, and the start of the next one.
    fn plan(&self, start: PartStart) -> (Vec<PartItem>, Option<PartStart>) {
        let (mut items, mut size) = (Vec::<PartItem>::new(), 0_usize);
        let block = &self.step.block;
        let index = start.index.saturating_add(1);
        let mut first_log = start.log;
        for at in added(block, self.step.first).skip(start.transaction) {
            let Some(receipt) = self.receipt(at) else { break };
            let transaction = at - self.step.first;
            let fixed = if first_log > 0 { 0 } else { self.fixed_size(at, receipt) };
            let first_size = receipt.logs.get(first_log).map_or(0, log_json_size);
            if !items.is_empty() && size + fixed + first_size > self.size {
                return (items, Some(PartStart { index, transaction, log: 0 }));
            }
            size += fixed;
            let mut end = first_log;
            for log in &receipt.logs[first_log.min(receipt.logs.len())..] {
                if end > first_log && size >= self.size {
                    break;
                }
                size += log_json_size(log);
                end += 1;
            }
            items.push(PartItem { transaction: at, logs: first_log..end });
            if end < receipt.logs.len() {
                return (items, Some(PartStart { index, transaction, log: end }));
            }
            first_log = 0;
        }
        (items, None)
    }

    fn receipt(&self, at: usize) -> Option<&Receipt> {
        self.step.block.receipts.get(at).map(|receipt| &**receipt)
    }

    fn transaction_size(&self, at: usize) -> usize {
        self.step.block.transactions.get(at).map_or(0, |transaction| transaction_json_size(transaction))
    }

    /// Returns the size of a transaction and of its receipt without logs.
    fn fixed_size(&self, at: usize, receipt: &Receipt) -> usize {
        let logs: usize = receipt.logs.iter().map(log_json_size).sum();
        self.transaction_size(at) + receipt_json_size(receipt).saturating_sub(logs)
    }
}
