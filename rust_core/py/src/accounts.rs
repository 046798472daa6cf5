//! Keys of a development mnemonic.

use alloy_primitives::{Address, hex, keccak256};
use bip32::{ChildNumber, DerivationPath, XPrv};
use bip39::{Language, Mnemonic};
use parking_lot::Mutex;
use pyo3::prelude::*;

/// Parent derivation path of Ethereum keys (BIP-44, coin type 60); the account index follows.
const PARENT_PATH: &str = "m/44'/60'/0'/0";
/// Largest number of accounts that one call derives; each costs about 0.1 ms.
const MAX_ACCOUNTS: u32 = 10_000;

/// Errors of deriving accounts from a mnemonic.
#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    #[error("mnemonic: {0}")]
    Mnemonic(#[from] bip39::Error),
    #[error("mnemonic: {0}")]
    Derivation(#[from] bip32::Error),
    #[error("count: {0} accounts, at most {MAX_ACCOUNTS}")]
    TooMany(u32),
}

/// A key and its address.
#[derive(Clone, Copy)]
pub struct DerivedAccount {
    pub address: Address,
    pub key: [u8; 32],
}

/// Mnemonic and accounts of the last derivation. A start needs the same ones for the genesis, the node and the banner.
static DERIVED: Mutex<Option<(String, Vec<DerivedAccount>)>> = Mutex::new(None);

/// Returns the first `count` accounts of an English BIP-39 mnemonic without passphrase, at m/44'/60'/0'/0/i
/// (BIP-32).
pub fn derive(mnemonic: &str, count: u32) -> Result<Vec<DerivedAccount>, AccountsError> {
    if count > MAX_ACCOUNTS {
        return Err(AccountsError::TooMany(count));
    }
    let mut derived = DERIVED.lock();
    if let Some((words, accounts)) = derived.as_ref()
        && words == mnemonic
        && let Some(accounts) = accounts.get(..count as usize)
    {
        return Ok(accounts.to_vec());
    }
    let accounts = compute(mnemonic, count)?;
    *derived = Some((mnemonic.to_owned(), accounts.clone()));
    Ok(accounts)
}

fn compute(mnemonic: &str, count: u32) -> Result<Vec<DerivedAccount>, AccountsError> {
    let seed = Mnemonic::parse_in(Language::English, mnemonic)?.to_seed("");
    let path: DerivationPath = PARENT_PATH.parse()?;
    let parent = XPrv::derive_from_path(seed, &path)?;
    (0..count)
        .map(|index| {
            let child = parent.derive_child(ChildNumber::new(index, false)?)?;
            let public = child.private_key().verifying_key().to_encoded_point(false);
            // The first byte marks an uncompressed point and is not hashed.
            let hash = keccak256(&public.as_bytes()[1..]);
            Ok(DerivedAccount { address: Address::from_slice(&hash[12..]), key: child.to_bytes() })
        })
        .collect()
}

/// Returns the first `count` accounts of `mnemonic` as (address, private key) in hex. The address has its
/// EIP-55 checksum. The mnemonic is English BIP-39 words without a passphrase; the path is m/44'/60'/0'/0/i.
///
/// Raises ValueError if the words are not a valid mnemonic or `count` is over 10,000.
#[pyfunction]
pub fn derive_accounts(py: Python<'_>, mnemonic: &str, count: u32) -> PyResult<Vec<(String, String)>> {
    let accounts = py.detach(|| derive(mnemonic, count))?;
    Ok(accounts
        .iter()
        .map(|account| (account.address.to_checksum(None), hex::encode_prefixed(account.key)))
        .collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    const WORDS: &str = "test test test test test test test test test test test junk";
    const OTHER: &str = "legal winner thank year wave sausage worth useful legal winner thank yellow";

    #[test]
    fn cached_accounts_equal_computed_ones() {
        for (words, count) in [(WORDS, 2), (WORDS, 1), (WORDS, 4), (OTHER, 3), (WORDS, 0), (OTHER, 2)] {
            let addresses = |accounts: Vec<DerivedAccount>| {
                accounts.into_iter().map(|account| (account.address, account.key)).collect::<Vec<_>>()
            };
            let cached = addresses(derive(words, count).unwrap());
            assert_eq!(cached, addresses(compute(words, count).unwrap()));
            assert_eq!(cached.len(), count as usize);
        }
    }

    #[test]
    fn words_after_a_valid_mnemonic_are_checked() {
        derive(WORDS, 1).unwrap();
        assert!(derive("test test", 1).is_err());
        assert!(matches!(derive(WORDS, MAX_ACCOUNTS + 1), Err(AccountsError::TooMany(_))));
    }
}
