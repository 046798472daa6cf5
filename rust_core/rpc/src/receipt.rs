//! Receipt of a transaction by its hash.

use alloy_primitives::B256;
use foreseal_chain::View;
use foreseal_primitives::Block;
use foreseal_state::StateError;

use crate::json::{BlockOfReceipt, write_receipt};

/// Returns the receipt of a transaction that is in a block of `view`.
pub fn receipt_of(view: &View, hash: &B256) -> Result<Option<Vec<u8>>, StateError> {
    let Some((found, index)) = view.transaction(hash)? else { return Ok(None) };
    Ok(receipt(view, &found.block, index))
}

fn receipt(view: &View, block: &Block, index: usize) -> Option<Vec<u8>> {
    let (transaction, receipt) = (block.transactions.get(index)?, block.receipts.get(index)?);
    let mut out = Vec::new();
    let context = BlockOfReceipt::new(view.spec(), block);
    write_receipt(&mut out, &context, index as u64, transaction, receipt);
    Some(out)
}
