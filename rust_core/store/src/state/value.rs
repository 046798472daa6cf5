//! Encoding of version values. An empty value is a deletion.

use alloy_primitives::{B256, KECCAK256_EMPTY, U256};
use alloy_rlp::{Decodable, Encodable};
use foreseal_primitives::Account;

/// Encodes nonce and balance, and the code hash of accounts that have code.
pub(crate) fn encode_account(account: Option<&Account>) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(account) = account else { return out };
    account.nonce.encode(&mut out);
    account.balance.encode(&mut out);
    if account.code_hash != KECCAK256_EMPTY {
        out.extend_from_slice(account.code_hash.as_slice());
    }
    out
}

/// Decodes an account. Returns an error if the bytes are not one.
pub(crate) fn decode_account(mut bytes: &[u8]) -> Result<Option<Account>, &'static str> {
    const WRONG: &str = "the account does not decode";
    if bytes.is_empty() {
        return Ok(None);
    }
    let nonce = u64::decode(&mut bytes).map_err(|_| WRONG)?;
    let balance = U256::decode(&mut bytes).map_err(|_| WRONG)?;
    let code_hash = match bytes.len() {
        0 => KECCAK256_EMPTY,
        _ => B256::try_from(bytes).map_err(|_| WRONG)?,
    };
    Ok(Some(Account { nonce, balance, code_hash }))
}

/// Encodes a value as big-endian bytes without leading zeros.
pub(crate) fn encode_slot(value: &U256) -> Vec<u8> {
    value.to_be_bytes_trimmed_vec()
}

/// Decodes a slot's value. Returns an error if the bytes are not one.
pub(crate) fn decode_slot(bytes: &[u8]) -> Result<U256, &'static str> {
    U256::try_from_be_slice(bytes).ok_or("the value has more than 32 bytes")
}
