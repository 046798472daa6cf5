//! Receipts.

use alloy_consensus::Eip658Value;
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, Log};
use alloy_rlp::{BufMut, Decodable, Encodable, Header, RlpDecodable, RlpEncodable};

/// A receipt with the fields that its JSON needs in addition to the consensus
/// fields, so that no further read is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// EIP-2718 type of the transaction.
    pub kind: u8,
    /// Success flag, or the intermediate state root before Byzantium (EIP-658).
    pub status: Eip658Value,
    /// Gas used in the block up to and including this transaction.
    pub cumulative_gas_used: u64,
    pub logs: Vec<Log>,
    /// Bloom of `logs`.
    pub bloom: Bloom,
    /// Gas used by this transaction.
    pub gas_used: u64,
    /// Address of the created contract, if the transaction creates one.
    pub contract_address: Option<Address>,
    /// Number of logs in the block before this receipt.
    pub first_log_index: u64,
    /// Nonce of the sender before a deposit of an OP chain; `None` for a signed transaction.
    pub deposit_nonce: Option<u64>,
}

/// Bytes that a value in memory needs in addition to its own: headers and rounding of the allocator, counters of
/// shared values.
const ALLOCATION_OVERHEAD: usize = 64;

/// Version of the receipts of deposits since Canyon (OP specification, deposits).
pub const DEPOSIT_RECEIPT_VERSION: u64 = 1;

impl Receipt {
    /// Appends the EIP-2718 bytes, the form that the receipts trie holds, to `out`.
    pub fn encode_2718(&self, out: &mut Vec<u8>) {
        if self.kind != 0 {
            out.push(self.kind);
        }
        let payload = self.status_length()
            + self.cumulative_gas_used.length()
            + self.bloom.length()
            + self.logs.length()
            + self.deposit_nonce.map_or(0, |nonce| nonce.length() + DEPOSIT_RECEIPT_VERSION.length());
        Header { list: true, payload_length: payload }.encode(out);
        match &self.status {
            Eip658Value::Eip658(ok) => ok.encode(out),
            Eip658Value::PostState(root) => root.encode(out),
        }
        self.cumulative_gas_used.encode(out);
        self.bloom.encode(out);
        self.logs.encode(out);
        if let Some(nonce) = self.deposit_nonce {
            nonce.encode(out);
            DEPOSIT_RECEIPT_VERSION.encode(out);
        }
    }

    fn status_length(&self) -> usize {
        match &self.status {
            Eip658Value::Eip658(_) => 1,
            Eip658Value::PostState(root) => root.length(),
        }
    }

    /// Returns the number of logs in the block up to and including this receipt.
    pub fn log_end(&self) -> u64 {
        self.first_log_index.saturating_add(self.logs.len() as u64)
    }

    /// Returns the size of the receipt in memory with everything that it owns, in bytes.
    pub fn memory_size(&self) -> usize {
        // Logs that are parsed have no spare capacity, and so have those of the EVM but for the outer list.
        let outside = |log: &Log| match log.topics().len() + log.data.data.len() {
            0 => 0,
            _ => ALLOCATION_OVERHEAD + size_of_val(log.topics()) + log.data.data.len(),
        };
        let logs = self.logs.capacity() * size_of::<Log>() + self.logs.iter().map(outside).sum::<usize>();
        size_of::<Self>() + ALLOCATION_OVERHEAD + logs
    }

    /// Returns `true` if the transaction succeeded. Receipts before Byzantium
    /// have no status; the result is then `true`.
    pub fn succeeded(&self) -> bool {
        match self.status {
            Eip658Value::Eip658(ok) => ok,
            Eip658Value::PostState(_) => true,
        }
    }
}

/// The receipt in the form of the journal: the bloom is omitted and computed again on reading.
#[derive(RlpDecodable)]
#[rlp(trailing(canonical))]
struct ReceiptWire {
    kind: u8,
    /// One byte for the flag, 32 for a state root.
    status: Bytes,
    cumulative_gas_used: u64,
    gas_used: u64,
    first_log_index: u64,
    /// Empty, or 20 bytes.
    contract_address: Bytes,
    logs: Vec<Log>,
    /// Eight bytes: a number could be encoded like an absent one.
    deposit_nonce: Option<B64>,
}

/// Encoding counterpart of [`ReceiptWire`]. It borrows, because a step writes thousands of receipts.
#[derive(RlpEncodable)]
#[rlp(trailing(canonical))]
struct ReceiptOut<'a> {
    kind: u8,
    status: &'a [u8],
    cumulative_gas_used: u64,
    gas_used: u64,
    first_log_index: u64,
    contract_address: &'a [u8],
    logs: &'a Vec<Log>,
    deposit_nonce: Option<B64>,
}

impl Receipt {
    fn out(&self) -> ReceiptOut<'_> {
        let status = match &self.status {
            Eip658Value::Eip658(false) => &[0],
            Eip658Value::Eip658(true) => &[1],
            Eip658Value::PostState(root) => root.as_slice(),
        };
        ReceiptOut {
            kind: self.kind,
            status,
            cumulative_gas_used: self.cumulative_gas_used,
            gas_used: self.gas_used,
            first_log_index: self.first_log_index,
            contract_address: self.contract_address.as_ref().map_or(&[], |address| address.as_slice()),
            logs: &self.logs,
            deposit_nonce: self.deposit_nonce.map(|nonce| B64::from(nonce.to_be_bytes())),
        }
    }
}

impl Encodable for Receipt {
    fn encode(&self, out: &mut dyn BufMut) {
        self.out().encode(out);
    }

    fn length(&self) -> usize {
        self.out().length()
    }
}

impl Decodable for Receipt {
    fn decode(buf: &mut &[u8]) -> alloy_rlp::Result<Self> {
        let wire = ReceiptWire::decode(buf)?;
        let status = match wire.status.as_ref() {
            [flag @ (0 | 1)] => Eip658Value::Eip658(*flag == 1),
            root if root.len() == 32 => Eip658Value::PostState(B256::from_slice(root)),
            _ => return Err(alloy_rlp::Error::Custom("receipt status is neither flag nor root")),
        };
        let contract_address = match wire.contract_address.len() {
            0 => None,
            20 => Some(Address::from_slice(&wire.contract_address)),
            _ => return Err(alloy_rlp::Error::Custom("contract address is not 20 bytes")),
        };
        Ok(Self {
            kind: wire.kind,
            status,
            cumulative_gas_used: wire.cumulative_gas_used,
            bloom: foreseal_keccak::logs_bloom(&wire.logs),
            logs: wire.logs,
            gas_used: wire.gas_used,
            contract_address,
            first_log_index: wire.first_log_index,
            deposit_nonce: wire.deposit_nonce.map(|nonce| u64::from_be_bytes(nonce.0)),
        })
    }
}
