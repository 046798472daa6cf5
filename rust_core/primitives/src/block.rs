//! A block: sealed, or its state at a step while it is built.

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{B256, U256};
use alloy_rlp::{Encodable, Header as RlpHeader, RlpDecodable, RlpEncodable};
use imbl::Vector;

use crate::{envelope::Envelope, receipt::Receipt, transaction::Transaction};

/// A block with its receipts. The lists share their structure with the block at the previous step, so
/// a step costs only the items that it adds.
#[derive(Clone, Debug)]
pub struct Block {
    pub header: Header,
    /// Hash of `header`.
    pub hash: B256,
    pub transactions: Vector<Arc<Transaction>>,
    /// One receipt per transaction.
    pub receipts: Vector<Arc<Receipt>>,
    pub uncles: Vec<Header>,
    /// `None` before Shanghai.
    pub withdrawals: Option<Withdrawals>,
    /// Length in bytes of the RLP payload of the transaction list;
    /// stored because `size` needs it at every step.
    pub transactions_length: usize,
}

/// The wire form of a block (yellow paper, EIP-4895). Absent withdrawals are omitted without a placeholder.
#[derive(Clone, Debug, RlpEncodable, RlpDecodable)]
#[rlp(trailing(canonical))]
pub struct BlockBytes {
    pub header: Header,
    pub transactions: Vec<Envelope>,
    pub uncles: Vec<Header>,
    pub withdrawals: Option<Withdrawals>,
}

impl Block {
    /// Returns the size in bytes of the block's RLP, as `eth_getBlockByNumber` reports it.
    pub fn size(&self) -> usize {
        RlpHeader { list: true, payload_length: self.payload_length() }.length_with_payload()
    }

    /// Returns the wei that the fee recipient receives from priority fees. A deposit pays none.
    pub fn priority_fees(&self) -> U256 {
        let base_fee = self.header.base_fee_per_gas;
        let fees = self.transactions.iter().zip(&self.receipts).map(|(transaction, receipt)| {
            let price = transaction.effective_gas_price(base_fee);
            let fee = price.saturating_sub(u128::from(base_fee.unwrap_or(0)));
            U256::from(fee).saturating_mul(U256::from(receipt.gas_used))
        });
        fees.fold(U256::ZERO, U256::saturating_add)
    }

    /// Returns the number of logs in the first `transactions` transactions of the block.
    pub fn log_count(&self, transactions: usize) -> u64 {
        let last = transactions.checked_sub(1).and_then(|last| self.receipts.get(last));
        last.map_or(0, |receipt| receipt.log_end())
    }

    fn payload_length(&self) -> usize {
        self.header.length()
            + RlpHeader { list: true, payload_length: self.transactions_length }.length_with_payload()
            + self.uncles.length()
            + self.withdrawals.as_ref().map_or(0, Encodable::length)
    }

    /// Appends the block's RLP to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        RlpHeader { list: true, payload_length: self.payload_length() }.encode(out);
        self.header.encode(out);
        RlpHeader { list: true, payload_length: self.transactions_length }.encode(out);
        for transaction in &self.transactions {
            transaction.envelope().encode(out);
        }
        self.uncles.encode(out);
        if let Some(withdrawals) = &self.withdrawals {
            withdrawals.encode(out);
        }
    }
}

/// Returns the length in bytes of a transaction inside the block's RLP,
/// where typed ones are wrapped in a string.
pub fn length_in_block(transaction: &Transaction) -> usize {
    transaction.envelope().length()
}
