//! Receipt of a transaction by its hash.

use alloy_primitives::B256;
use foreseal_chain::View;
use foreseal_primitives::Block;

use crate::{
    errors::error::{Error, ResponseSize},
    json::{
        answer_size::SizeBounds,
        receipt::{BlockOfReceipt, write_receipt},
    },
};

/// Returns the receipt of a transaction that is in a block of `view`.
///
/// # Errors
///
/// Returns an error if the receipt has more than `max` bytes as JSON; a much larger one is not rendered.
pub fn receipt_within(view: &View, hash: &B256, max: usize) -> Result<Option<Vec<u8>>, Error> {
    let Some((executed, index)) = view.transaction(hash)? else { return Ok(None) };
    let check = |size| if size > max { Err(ResponseSize { max, has_logs: true }) } else { Ok(()) };
    if let Some(receipt) = executed.block.receipts.get(index) {
        check(SizeBounds::receipt(receipt).min)?;
    }
    let json = receipt(view, &executed.block, index);
    check(json.as_ref().map_or(0, Vec::len))?;
    Ok(json)
}

/// Returns the receipt of the transaction at `index` of a block.
pub fn receipt(view: &View, block: &Block, index: usize) -> Option<Vec<u8>> {
    let (transaction, receipt) = (block.transactions.get(index)?, block.receipts.get(index)?);
    let mut out = Vec::new();
    let context = BlockOfReceipt::new(view.spec(), block);
    write_receipt(&mut out, &context, index as u64, transaction, receipt);
    Some(out)
}
