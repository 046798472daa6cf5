//! Transactions whose fees need more than 128 bits.
//!
//! The vectors allow fees up to 256 bits. The transaction types of the core are limited to 128 bits, far
//! above any payable fee. This module therefore computes the hash, the signer and overflow from the bytes.
//! The core checks the other rules on the same transaction with the largest fee that its types can hold.

use alloy_consensus::crypto::secp256k1;
use alloy_primitives::{Address, B256, Signature, U256, keccak256};
use foreseal_primitives::Transaction;

use crate::rlp::Item;

/// Size in bytes of the largest fee that the core's types can hold.
const NARROW: usize = 16;

/// Transaction with a fee too wide for the core.
pub struct WideFeeTransaction {
    pub hash: B256,
    pub sender: Address,
    /// The same transaction with the fee reduced to the maximum.
    pub narrowed: Transaction,
}

/// Positions of the fields in the RLP list of a transaction type.
struct Layout {
    fees: &'static [usize],
    gas_limit: usize,
    /// Number of fields before the signature.
    unsigned: usize,
}

const LEGACY: Layout = Layout { fees: &[1], gas_limit: 2, unsigned: 6 };
const EIP1559: Layout = Layout { fees: &[2, 3], gas_limit: 4, unsigned: 9 };

/// Decodes a transaction that has a fee wider than 128 bits.
///
/// Returns `None` if the fees fit 128 bits or the bytes are not a legacy or EIP-1559 transaction.
pub fn read(bytes: &[u8]) -> Option<Result<WideFeeTransaction, String>> {
    let (kind, payload, layout) = match bytes.split_first()? {
        (2, payload) => (&bytes[..1], payload, EIP1559),
        _ => (&bytes[..0], bytes, LEGACY),
    };
    let Item::List(fields) = Item::decode(payload).ok()? else { return None };
    if fields.len() != layout.unsigned + 3 {
        return None;
    }
    let numbers: Vec<Option<U256>> = fields.iter().map(number).collect();
    let gas_limit = numbers[layout.gas_limit]?;
    let fees: Vec<U256> = layout.fees.iter().map(|at| numbers[*at]).collect::<Option<_>>()?;
    if fees.iter().all(|fee| fee.byte_len() <= NARROW) {
        return None;
    }
    if fees.iter().any(|fee| fee.checked_mul(gas_limit).is_none()) {
        return Some(Err("gas limit times fee exceeds 256 bits".to_owned()));
    }
    let [v, r, s] = numbers[layout.unsigned..] else { return None };
    let (v, r, s) = (v?, r?, s?);
    let mut signed = fields[..layout.unsigned].to_vec();
    let odd = if kind.is_empty() {
        let v = u64::try_from(v).ok()?;
        if v >= 35 {
            let chain_id = Item::String(U256::from((v - 35) / 2).to_be_bytes_trimmed_vec());
            signed.extend([chain_id, Item::String(Vec::new()), Item::String(Vec::new())]);
            (v - 35) % 2 == 1
        } else {
            v == 28
        }
    } else {
        v == U256::ONE
    };
    let message = keccak256([kind, &alloy_rlp::encode(Item::List(signed))].concat());
    let sender = match secp256k1::recover_signer_unchecked(&Signature::new(r, s, odd), message) {
        Ok(sender) => sender,
        Err(error) => return Some(Err(error.to_string())),
    };
    let mut narrow = fields;
    for at in layout.fees {
        if numbers[*at].is_some_and(|fee| fee.byte_len() > NARROW) {
            narrow[*at] = Item::String(vec![0xff; NARROW]);
        }
    }
    let narrow = [kind, &alloy_rlp::encode(Item::List(narrow))].concat();
    let envelope = Transaction::decode_signed(&narrow).map_err(|error| error.to_string());
    Some(envelope.map(|envelope| WideFeeTransaction {
        hash: keccak256(bytes),
        sender,
        narrowed: Transaction::new(envelope, sender),
    }))
}

/// Returns a number of at most 256 bits without leading zeros.
fn number(item: &Item) -> Option<U256> {
    match item {
        Item::String(bytes) if bytes.len() <= 32 && bytes.first() != Some(&0) => {
            Some(U256::from_be_slice(bytes))
        }
        _ => None,
    }
}
