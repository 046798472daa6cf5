//! Messages: a step of a payload as JSON, as `OpFlashblockPayload` of op-alloy reads it.

use std::collections::BTreeMap;

use alloy_consensus::Eip658Value;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, Log, U64, U256};
use foreseal_primitives::{DEPOSIT_RECEIPT_VERSION, Flashblock, Receipt};
use serde::Serialize;

/// Maximum payload of a frame. A frame has at most 4 bytes more, and some readers accept frames of at most 32,768.
const MAX_FRAME_PAYLOAD: usize = 32_000;

#[derive(Serialize)]
struct FlashblockJson<'a> {
    payload_id: B64,
    index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<BaseJson<'a>>,
    diff: DiffJson<'a>,
    metadata: MetadataJson<'a>,
}

/// Fields that no step of the block changes.
#[derive(Serialize)]
struct BaseJson<'a> {
    parent_beacon_block_root: B256,
    parent_hash: B256,
    fee_recipient: Address,
    prev_randao: B256,
    block_number: U64,
    gas_limit: U64,
    timestamp: U64,
    extra_data: &'a Bytes,
    base_fee_per_gas: U256,
}

/// Fields of the block after the step, and the transactions that the step adds.
#[derive(Serialize)]
struct DiffJson<'a> {
    state_root: B256,
    receipts_root: B256,
    logs_bloom: Bloom,
    gas_used: U64,
    block_hash: B256,
    transactions: Vec<&'a Bytes>,
    /// Blocks under a driver have no withdrawals.
    withdrawals: [Withdrawal; 0],
    withdrawals_root: B256,
    #[serde(skip_serializing_if = "Option::is_none")]
    blob_gas_used: Option<U64>,
}

#[derive(Serialize)]
struct MetadataJson<'a> {
    block_number: u64,
    /// Balances of the accounts that the step changes.
    new_account_balances: BTreeMap<Address, U256>,
    /// Receipts of the transactions that the step adds, by hash.
    receipts: BTreeMap<B256, ReceiptJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReceiptJson<'a> {
    r#type: U64,
    #[serde(flatten)]
    outcome: OutcomeJson,
    cumulative_gas_used: U64,
    logs: &'a [Log],
    #[serde(skip_serializing_if = "Option::is_none")]
    deposit_nonce: Option<U64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deposit_receipt_version: Option<U64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum OutcomeJson {
    Status(U64),
    /// State root, before Byzantium (EIP-658).
    Root(B256),
}

/// Flashblock as the JSON of one message. Clones share the bytes.
#[derive(Clone, Debug)]
pub(super) struct FlashblockMessage(Bytes);

impl FlashblockMessage {
    /// Renders a step of the payload `id`.
    pub fn render(id: B64, step: &Flashblock) -> Self {
        let header = &step.header;
        let base = (step.index == 0).then(|| BaseJson {
            parent_beacon_block_root: header.parent_beacon_block_root.unwrap_or_default(),
            parent_hash: header.parent_hash,
            fee_recipient: header.beneficiary,
            prev_randao: header.mix_hash,
            block_number: U64::from(header.number),
            gas_limit: U64::from(header.gas_limit),
            timestamp: U64::from(header.timestamp),
            extra_data: &header.extra_data,
            base_fee_per_gas: U256::from(header.base_fee_per_gas.unwrap_or_default()),
        });
        let diff = DiffJson {
            state_root: header.state_root,
            receipts_root: header.receipts_root,
            logs_bloom: header.logs_bloom,
            gas_used: U64::from(header.gas_used),
            block_hash: step.hash,
            transactions: step.transactions.iter().map(|transaction| transaction.encoded()).collect(),
            withdrawals: [],
            withdrawals_root: header.withdrawals_root.unwrap_or_default(),
            blob_gas_used: header.blob_gas_used.map(U64::from),
        };
        let hashes = step.transactions.iter().map(|transaction| transaction.hash());
        let metadata = MetadataJson {
            block_number: step.number,
            new_account_balances: new_balances(step),
            receipts: hashes.zip(step.receipts.iter().map(|receipt| receipt_json(receipt))).collect(),
        };
        let message = FlashblockJson { payload_id: id, index: step.index, base, diff, metadata };
        // None of these types can fail to serialize.
        Self(serde_json::to_vec(&message).unwrap_or_default().into())
    }

    /// Creates a message of this length.
    #[cfg(test)]
    pub fn with_length(length: usize) -> Self {
        Self(vec![b' '; length].into())
    }

    /// Returns the length of the JSON in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the payloads of the frames that carry the message, in order.
    pub fn frames(&self) -> impl Iterator<Item = bytes::Bytes> {
        let json = &self.0.0;
        (0..json.len()).step_by(MAX_FRAME_PAYLOAD).map(|from| {
            let to = json.len().min(from.saturating_add(MAX_FRAME_PAYLOAD));
            json.slice(from..to)
        })
    }
}

/// Returns the balances after a step, end-of-block processing included, of the accounts that it changes.
fn new_balances(step: &Flashblock) -> BTreeMap<Address, U256> {
    let changed = step.diff.accounts.iter().chain(&step.end_of_block_diff.accounts);
    changed
        .map(|changed| (changed.address, changed.diff.account.map_or(U256::ZERO, |account| account.balance)))
        .collect()
}

fn receipt_json(receipt: &Receipt) -> ReceiptJson<'_> {
    ReceiptJson {
        r#type: U64::from(receipt.kind),
        outcome: match receipt.status {
            Eip658Value::Eip658(succeeded) => OutcomeJson::Status(U64::from(u8::from(succeeded))),
            Eip658Value::PostState(root) => OutcomeJson::Root(root),
        },
        cumulative_gas_used: U64::from(receipt.cumulative_gas_used),
        logs: &receipt.logs,
        deposit_nonce: receipt.deposit_nonce.map(U64::from),
        deposit_receipt_version: receipt.deposit_nonce.map(|_| U64::from(DEPOSIT_RECEIPT_VERSION)),
    }
}
