//! Receipts.

use alloy_consensus::{Eip658Value, Header, Transaction as _};
use alloy_primitives::B256;
use foreseal_primitives::{Block, ChainSpec, FoundLog, Receipt, Transaction};

use super::{Object, write_log};

/// Fields of a block that its receipts and logs show.
#[derive(Clone, Copy, Debug)]
pub struct BlockOfReceipt<'a> {
    pub header: &'a Header,
    pub hash: &'a B256,
    /// Wei per blob gas in the block; `None` before Cancun.
    pub blob_base_fee: Option<u128>,
}

impl<'a> BlockOfReceipt<'a> {
    /// Returns the fields of `block` under the rules of `spec`.
    pub fn new(spec: &ChainSpec, block: &'a Block) -> Self {
        Self { header: &block.header, hash: &block.hash, blob_base_fee: spec.blob_base_fee(&block.header) }
    }
}

/// Writes the receipt of `transaction`, which is at `index` in `block`.
pub fn write_receipt(
    out: &mut Vec<u8>,
    block: &BlockOfReceipt<'_>,
    index: u64,
    transaction: &Transaction,
    receipt: &Receipt,
) {
    let mut object = Object::open(out);
    object
        .data("blockHash", block.hash)
        .quantity("blockNumber", block.header.number)
        .data("transactionHash", transaction.hash())
        .quantity("transactionIndex", index)
        .quantity("type", u64::from(receipt.kind))
        .data("from", transaction.sender())
        .nullable_data("to", transaction.envelope().to());
    write_outcome_fields(&mut object, block, index, (transaction, receipt), false);
    object.close();
}

/// Writes the fields that only a receipt has. `removed` marks its logs as removed with their block.
pub fn write_outcome_fields(
    object: &mut Object<'_>,
    block: &BlockOfReceipt<'_>,
    index: u64,
    (transaction, receipt): (&Transaction, &Receipt),
    removed: bool,
) {
    let envelope = transaction.envelope();
    let hash = transaction.hash();
    object
        .nullable_data("contractAddress", receipt.contract_address)
        .quantity("gasUsed", receipt.gas_used)
        .quantity("cumulativeGasUsed", receipt.cumulative_gas_used)
        .quantity("effectiveGasPrice", transaction.effective_gas_price(block.header.base_fee_per_gas));
    if let Some(blob_gas) = envelope.blob_gas_used() {
        object.quantity("blobGasUsed", blob_gas).optional_quantity("blobGasPrice", block.blob_base_fee);
    }
    match &receipt.status {
        Eip658Value::Eip658(ok) => object.json("status", if *ok { "\"0x1\"" } else { "\"0x0\"" }),
        Eip658Value::PostState(root) => object.data("root", root),
    };
    let numbered = (receipt.first_log_index..).zip(&receipt.logs).map(|(log_index, log)| FoundLog {
        block_number: block.header.number,
        block_hash: *block.hash,
        timestamp: block.header.timestamp,
        transaction_hash: hash,
        transaction_index: index,
        index: log_index,
        log,
    });
    object
        .data("logsBloom", receipt.bloom)
        .list("logs", numbered, |out, found| write_log(out, &found, removed));
}
