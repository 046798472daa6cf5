//! Receipts without their logs, each under its own key.

use std::sync::Arc;

use alloy_consensus::Eip658Value;
use alloy_primitives::{Address, B256, Bloom, Log};
use alloy_rlp::{Decodable, Encodable};
use foreseal_primitives::{DEPOSIT_TYPE, Receipt};

use super::{log::StoredLog, record::BlockRecord};
use crate::{error::StoreError, key, read_transaction::ReadTransaction};

/// Highest number of set bits of a bloom that is stored as a list. At two bytes
/// a bit, a longer list would save nothing.
const LISTED_BITS: usize = 127;
/// Marker in place of the number of bits: the whole bloom follows.
const WHOLE_BLOOM: u8 = u8::MAX;

/// The stored fields of a receipt. Its logs are in the `logs` table, from its first log on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredReceipt {
    kind: u8,
    status: Eip658Value,
    cumulative_gas_used: u64,
    gas_used: u64,
    contract_address: Option<Address>,
    /// Number of logs in the block before this receipt.
    pub first_log_index: u64,
    pub logs: u64,
    bloom: Bloom,
    /// Stored for deposits only.
    deposit_nonce: Option<u64>,
}

impl StoredReceipt {
    pub fn new(receipt: &Receipt) -> Self {
        Self {
            kind: receipt.kind,
            status: receipt.status,
            cumulative_gas_used: receipt.cumulative_gas_used,
            gas_used: receipt.gas_used,
            contract_address: receipt.contract_address,
            first_log_index: receipt.first_log_index,
            logs: receipt.logs.len() as u64,
            bloom: receipt.bloom,
            deposit_nonce: receipt.deposit_nonce,
        }
    }

    /// Returns the receipt with its logs.
    fn with_logs(self, logs: Vec<Log>) -> Receipt {
        Receipt {
            kind: self.kind,
            status: self.status,
            cumulative_gas_used: self.cumulative_gas_used,
            logs,
            bloom: self.bloom,
            gas_used: self.gas_used,
            contract_address: self.contract_address,
            first_log_index: self.first_log_index,
            deposit_nonce: self.deposit_nonce,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.kind];
        match &self.status {
            Eip658Value::Eip658(ok) => out.push(u8::from(*ok)),
            Eip658Value::PostState(root) => {
                out.push(2);
                out.extend_from_slice(root.as_slice());
            }
        }
        out.push(u8::from(self.contract_address.is_some()));
        out.extend(self.contract_address.iter().flatten());
        for number in [self.cumulative_gas_used, self.gas_used, self.first_log_index, self.logs] {
            number.encode(&mut out);
        }
        if let Some(nonce) = self.deposit_nonce {
            nonce.encode(&mut out);
        }
        encode_bloom(&self.bloom, &mut out);
        out
    }

    /// Decodes a receipt. Returns `None` if the bytes are not one.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let kind = read_array::<1>(bytes)?[0];
        let status = match read_array::<1>(bytes)? {
            [flag @ (0 | 1)] => Eip658Value::Eip658(*flag == 1),
            [2] => Eip658Value::PostState(B256::new(*read_array(bytes)?)),
            _ => return None,
        };
        let contract_address = match read_array::<1>(bytes)? {
            [0] => None,
            [1] => Some(Address::new(*read_array(bytes)?)),
            _ => return None,
        };
        let mut number = || u64::decode(bytes).ok();
        let (cumulative_gas_used, gas_used) = (number()?, number()?);
        let (first_log_index, logs) = (number()?, number()?);
        let deposit_nonce = if kind == DEPOSIT_TYPE { Some(number()?) } else { None };
        let bloom = decode_bloom(bytes)?;
        let receipt = Self {
            kind,
            status,
            cumulative_gas_used,
            gas_used,
            contract_address,
            first_log_index,
            logs,
            bloom,
            deposit_nonce,
        };
        bytes.is_empty().then_some(receipt)
    }
}

fn read_array<'b, const N: usize>(bytes: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(taken)
}

/// Encodes a bloom. That of a token transfer has about a dozen bits: a
/// list of them needs a tenth of the bytes.
fn encode_bloom(bloom: &Bloom, out: &mut Vec<u8>) {
    let bits = (0..2048_u16).filter(|bit| bloom[usize::from(bit / 8)] & (1 << (bit % 8)) != 0);
    let bits: Vec<u16> = bits.take(LISTED_BITS + 1).collect();
    match u8::try_from(bits.len()) {
        Ok(count) if bits.len() <= LISTED_BITS => {
            out.push(count);
            out.extend(bits.into_iter().flat_map(u16::to_be_bytes));
        }
        _ => {
            out.push(WHOLE_BLOOM);
            out.extend_from_slice(bloom.as_slice());
        }
    }
}

fn decode_bloom(bytes: &mut &[u8]) -> Option<Bloom> {
    let count = read_array::<1>(bytes)?[0];
    if count == WHOLE_BLOOM {
        return read_array(bytes).map(|bloom| Bloom::new(*bloom));
    }
    let mut bloom = Bloom::ZERO;
    for _ in 0..count {
        let bit = u16::from_be_bytes(*read_array(bytes)?);
        *bloom.get_mut(usize::from(bit / 8))? |= 1 << (bit % 8);
    }
    Some(bloom)
}

impl ReadTransaction<'_> {
    /// Returns one receipt of a block.
    pub fn receipt(&self, number: u64, index: u32) -> Result<Option<Receipt>, StoreError> {
        let Some(stored) = self.stored_receipt(number, index)? else { return Ok(None) };
        let Some((_, record)) = self.record(number)? else { return Ok(None) };
        let first = record.first_log.saturating_add(stored.first_log_index);
        let logs = self.logs(first, stored.logs)?.into_iter().map(|stored| stored.log).collect();
        Ok(Some(stored.with_logs(logs)))
    }

    fn stored_receipt(&self, number: u64, index: u32) -> Result<Option<StoredReceipt>, StoreError> {
        let (table, key) = (&self.tables.receipts, key::block_item(number, index));
        let Some(bytes) = table.get(self.txn, &key)? else { return Ok(None) };
        let damaged = || table.damaged(&key, "the receipt does not decode");
        Ok(Some(StoredReceipt::decode(bytes).ok_or_else(damaged)?))
    }

    /// Returns all receipts of a block without their logs, each with the number of them.
    pub fn receipts_without_logs(
        &self,
        number: u64,
        record: &BlockRecord,
    ) -> Result<Vec<(Arc<Receipt>, u64)>, StoreError> {
        let table = &self.tables.receipts;
        let read = |(key, bytes)| {
            let stored = StoredReceipt::decode(bytes)
                .ok_or_else(|| table.damaged(key, "the receipt does not decode"))?;
            let logs = stored.logs;
            Ok((Arc::new(stored.with_logs(Vec::new())), logs))
        };
        self.list(table, number, record.transactions)?.into_iter().map(read).collect()
    }

    /// Returns all receipts of a block.
    pub fn receipts(&self, number: u64, record: &BlockRecord) -> Result<Vec<Arc<Receipt>>, StoreError> {
        let table = &self.tables.receipts;
        let mut logs = self.logs(record.first_log, record.logs)?.into_iter();
        let mut receipts = Vec::new();
        for (key, bytes) in self.list(table, number, record.transactions)? {
            let damaged = |why| table.damaged(key, why);
            let stored =
                StoredReceipt::decode(bytes).ok_or_else(|| damaged("the receipt does not decode"))?;
            let count = usize::try_from(stored.logs).unwrap_or(usize::MAX);
            if logs.len() < count {
                return Err(damaged("the block has fewer logs than its receipts"));
            }
            let own = logs.by_ref().take(count).map(|StoredLog { log, .. }| log).collect();
            receipts.push(Arc::new(stored.with_logs(own)));
        }
        if logs.len() > 0 {
            return Err(table.damaged(&key::number(number), "the block has more logs than its receipts"));
        }
        Ok(receipts)
    }
}
