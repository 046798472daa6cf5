//! Receipts.

use alloy_consensus::{Eip658Value, Header, Transaction as _};
use alloy_primitives::{B256, Log};
use foreseal_evm::optimism::L1Fees;
use foreseal_primitives::{Block, ChainSpec, DEPOSIT_RECEIPT_VERSION, FoundLog, Receipt, Transaction};

use super::{log::write_log, object::Object, pace::paced};

/// Fields of a block that its receipts and logs show.
#[derive(Clone, Copy, Debug)]
pub struct BlockOfReceipt<'a> {
    pub header: &'a Header,
    pub hash: &'a B256,
    /// Wei per blob gas in the block; `None` before Cancun.
    pub blob_base_fee: Option<u128>,
    /// Fee parameters of L1; `None` if the chain is no OP chain.
    pub l1_fees: Option<L1Fees>,
}

impl<'a> BlockOfReceipt<'a> {
    /// Returns the fields of `block` under the rules of `spec`.
    pub fn new(spec: &ChainSpec, block: &'a Block) -> Self {
        let l1_fees = spec.optimism().and_then(|rules| {
            let attributes = block.transactions.front()?;
            L1Fees::from_attributes(rules.fork(), attributes.envelope().input())
        });
        let blob_base_fee = spec.blob_base_fee(&block.header);
        Self { header: &block.header, hash: &block.hash, blob_base_fee, l1_fees }
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
    write_receipt_part(out, block, index, (transaction, receipt), &receipt.logs);
}

/// Writes the receipt of `transaction` with its first logs only.
pub fn write_receipt_part(
    out: &mut Vec<u8>,
    block: &BlockOfReceipt<'_>,
    index: u64,
    (transaction, receipt): (&Transaction, &Receipt),
    logs: &[Log],
) {
    let mut object = Object::open(out);
    write_identity(&mut object, block, index, (transaction, receipt));
    write_outcome(&mut object, block, (transaction, receipt));
    write_logs_of_receipt(&mut object, block, index, (transaction, receipt), (0, logs));
    object.close();
}

/// Writes the field of a receipt's logs with some of them only, from a number on.
pub fn write_logs_of_receipt(
    object: &mut Object<'_>,
    block: &BlockOfReceipt<'_>,
    index: u64,
    receipt: (&Transaction, &Receipt),
    (first, logs): (usize, &[Log]),
) {
    write_logs(object, block, index, receipt, ReceiptLogs { first, logs, removed: false });
}

/// Writes the fields that only a receipt has. `removed` marks its logs as removed with their block.
pub fn write_outcome_fields(
    object: &mut Object<'_>,
    block: &BlockOfReceipt<'_>,
    index: u64,
    (transaction, receipt): (&Transaction, &Receipt),
    removed: bool,
) {
    write_outcome(object, block, (transaction, receipt));
    let logs = ReceiptLogs { first: 0, logs: &receipt.logs, removed };
    write_logs(object, block, index, (transaction, receipt), logs);
}

/// Logs of a receipt to write.
struct ReceiptLogs<'a> {
    /// Number of the first one in the receipt.
    first: usize,
    logs: &'a [Log],
    /// `true` if their block is no longer on the chain.
    removed: bool,
}

/// Writes the fields that name the transaction of a receipt.
fn write_identity(
    object: &mut Object<'_>,
    block: &BlockOfReceipt<'_>,
    index: u64,
    (transaction, receipt): (&Transaction, &Receipt),
) {
    object
        .data("blockHash", block.hash)
        .quantity("blockNumber", block.header.number)
        .data("transactionHash", transaction.hash())
        .quantity("transactionIndex", index)
        .quantity("type", u64::from(receipt.kind))
        .data("from", transaction.sender())
        .nullable_data("to", transaction.envelope().to());
}

/// Writes the result of a transaction except its logs.
fn write_outcome(
    object: &mut Object<'_>,
    block: &BlockOfReceipt<'_>,
    (transaction, receipt): (&Transaction, &Receipt),
) {
    let envelope = transaction.envelope();
    object
        .nullable_data("contractAddress", receipt.contract_address)
        .quantity("gasUsed", receipt.gas_used)
        .quantity("cumulativeGasUsed", receipt.cumulative_gas_used)
        .quantity("effectiveGasPrice", transaction.effective_gas_price(block.header.base_fee_per_gas));
    if let Some(blob_gas) = envelope.blob_gas_used() {
        object.quantity("blobGasUsed", blob_gas).optional_quantity("blobGasPrice", block.blob_base_fee);
    }
    match (block.l1_fees, receipt.deposit_nonce) {
        (_, Some(nonce)) => {
            object.quantity("depositNonce", nonce).quantity("depositReceiptVersion", DEPOSIT_RECEIPT_VERSION);
        }
        (Some(fees), None) => write_l1_fees(object, &fees, transaction),
        (None, None) => {}
    }
    match &receipt.status {
        Eip658Value::Eip658(ok) => object.json("status", if *ok { "\"0x1\"" } else { "\"0x0\"" }),
        Eip658Value::PostState(root) => object.data("root", root),
    };
    object.data("logsBloom", receipt.bloom);
}

fn write_logs(
    object: &mut Object<'_>,
    block: &BlockOfReceipt<'_>,
    index: u64,
    (transaction, receipt): (&Transaction, &Receipt),
    ReceiptLogs { first, logs, removed }: ReceiptLogs<'_>,
) {
    let hash = transaction.hash();
    let numbered = logs.iter().zip(receipt.first_log_index + first as u64..);
    let entries = paced(numbered).map(|(log, log_index)| FoundLog {
        block_number: block.header.number,
        block_hash: *block.hash,
        timestamp: block.header.timestamp,
        transaction_hash: hash,
        transaction_index: index,
        index: log_index,
        log,
    });
    object.list("logs", entries, |out, entry| write_log(out, &entry, removed));
}

/// Writes the fees of an OP chain besides gas, and what they are computed from.
fn write_l1_fees(object: &mut Object<'_>, fees: &L1Fees, transaction: &Transaction) {
    object
        .quantity("l1Fee", fees.data_fee(transaction))
        .quantity("l1GasUsed", fees.data_gas(transaction))
        .quantity("l1GasPrice", fees.base_fee)
        .quantity("l1BlobBaseFee", fees.blob_base_fee)
        .quantity("l1BaseFeeScalar", u64::from(fees.base_fee_scalar))
        .quantity("l1BlobBaseFeeScalar", u64::from(fees.blob_base_fee_scalar));
    if fees.operator.scalar != 0 || fees.operator.constant != 0 {
        object
            .quantity("operatorFeeScalar", u64::from(fees.operator.scalar))
            .quantity("operatorFeeConstant", fees.operator.constant);
    }
    if let Some(scalar) = fees.footprint_scalar {
        object
            .quantity("daFootprintGasScalar", u64::from(scalar))
            .quantity("blobGasUsed", fees.footprint(transaction));
    }
}
