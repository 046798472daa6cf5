//! A flashblock in parts: a step larger than one message.
//!
//! ```text
//!   step:    transaction 0, receipt 0 with its logs | transaction 1, receipt 1 ...
//!   parts:   [ header, transaction 0, logs 0..k ] [ logs k.. of receipt 0, transaction 1, ... ] [ ... last ]
//! ```
//!
//! The start of a part is a position in the step, not a number of bytes: a reader continues at it even if the size of
//! parts has changed since.

use std::borrow::Cow;

use alloy_primitives::Log;
use foreseal_chain::{BlockAtStep, StepLogs};
use foreseal_primitives::{ChainSpec, log_json_size, result_json_size};
use foreseal_state::StateError;

use super::flashblock::{added, write_flashblock, write_step, write_step_head};
use crate::json::{
    object::Object,
    receipt::{BlockOfReceipt, write_logs_of_receipt, write_receipt_part},
    transaction::{Inclusion, write_transaction},
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
    /// Stored ones serve the parts after the first: that depends on the size of the whole step.
    pub logs: &'a StepLogs,
    /// `true` if the step is no longer on the chain.
    pub removed: bool,
    /// Size of a part in bytes, see [`PART_SIZE`].
    pub size: usize,
}

/// Transaction of a part.
struct PartItem<'a> {
    /// Index in the block.
    transaction: usize,
    /// Number of the first one of its logs in the part.
    first_log: usize,
    logs: Cow<'a, [Log]>,
}

/// Items of a part, and the start of the next one; `None` after the last.
type PartPlan<'a> = (Vec<PartItem<'a>>, Option<PartStart>);

impl PartItem<'_> {
    /// Returns `true` if earlier parts contain the transaction and the other fields of its receipt.
    fn is_continued(&self) -> bool {
        self.first_log > 0
    }
}

impl<'a> FlashblockParts<'a> {
    /// Returns `true` if the step has such a position.
    pub fn has(&self, start: PartStart) -> bool {
        let at = self.step.first.checked_add(start.transaction);
        let at = at.filter(|at| *at < self.step.block.receipts.len());
        start == PartStart::default()
            || at.is_some_and(|at| start.log == 0 || start.log < self.logs.count(self.step, at))
    }

    /// Writes the part that starts at `start`. Returns the start of the next one; `None` after the last.
    ///
    /// # Errors
    /// Returns the errors of reading stored logs; then nothing is written.
    pub fn write(&self, out: &mut Vec<u8>, start: PartStart) -> Result<Option<PartStart>, StateError> {
        if start == PartStart::default() && self.fits() {
            write_flashblock(out, self.spec, self.step, self.removed);
            return Ok(None);
        }
        let (items, next) = self.plan(start)?;
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
                let logs = (item.first_log, &*item.logs);
                write_logs_of_receipt(&mut object, &shown, index, (transaction, receipt), logs);
                object.close();
            } else {
                write_receipt_part(out, &shown, index, (transaction, receipt), &item.logs);
            }
        });
        object.json("removed", if self.removed { "true" } else { "false" });
        Object::open(object.name("part"))
            .quantity("index", start.index)
            .json("last", if next.is_none() { "true" } else { "false" })
            .close();
        object.close();
        Ok(next)
    }

    /// Returns the start of the part after the one at `start`, like [`Self::write`].
    ///
    /// # Errors
    /// Returns the errors of reading stored logs.
    pub fn next(&self, start: PartStart) -> Result<Option<PartStart>, StateError> {
        if start == PartStart::default() && self.fits() { Ok(None) } else { Ok(self.plan(start)?.1) }
    }

    /// Returns `true` if the whole flashblock is one message.
    fn fits(&self) -> bool {
        let block = &self.step.block;
        let mut size = 0_usize;
        added(block, self.step.first).all(|at| {
            size = size.saturating_add(result_json_size(&block.transactions[at], &block.receipts[at].logs));
            size <= self.size
        })
    }

    /// Returns the items of the part that starts at `start`, and the start of the next one.
    fn plan(&self, start: PartStart) -> Result<PartPlan<'a>, StateError> {
        let (mut items, mut size) = (Vec::<PartItem<'a>>::new(), 0_usize);
        let block = &self.step.block;
        let index = start.index.saturating_add(1);
        let mut first_log = start.log;
        for at in added(block, self.step.first).skip(start.transaction) {
            let transaction = at - self.step.first;
            let fixed = if first_log > 0 { 0 } else { result_json_size(&block.transactions[at], &[]) };
            let logs = self.logs.read(self.step, at, first_log, self.size.saturating_sub(size + fixed))?;
            let first_size = logs.first().map_or(0, log_json_size);
            if !items.is_empty() && size + fixed + first_size > self.size {
                return Ok((items, Some(PartStart { index, transaction, log: 0 })));
            }
            size += fixed + logs.iter().map(log_json_size).sum::<usize>();
            let end = first_log + logs.len();
            items.push(PartItem { transaction: at, first_log, logs });
            if end < self.logs.count(self.step, at) {
                return Ok((items, Some(PartStart { index, transaction, log: end })));
            }
            first_log = 0;
        }
        Ok((items, None))
    }
}
