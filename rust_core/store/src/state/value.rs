//! Values of versions. An empty one says: gone from here on.

use alloy_primitives::{B256, KECCAK256_EMPTY, U256};
use alloy_rlp::{Decodable, Encodable};
use foreseal_types::Account;

/// Nonce and balance, and the hash of the code for accounts that have any.
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

/// `Err` if the bytes are not an account.
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

/// Big-endian without leading zeros.
pub(crate) fn encode_slot(value: &U256) -> Vec<u8> {
    value.to_be_bytes_trimmed_vec()
}

/// `Err` if the bytes are not a slot's value.
pub(crate) fn decode_slot(bytes: &[u8]) -> Result<U256, &'static str> {
    U256::try_from_be_slice(bytes).ok_or("the value has more than 32 bytes")
}
