//! Stored keys and impersonated accounts of a development node.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering},
};

use alloy_consensus::crypto::secp256k1::sign_message;
use alloy_primitives::{Address, B256, Signature};
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::errors::{development_error::DevelopmentError, error::Limit};

/// Private key and the address of its account.
#[derive(Clone, Copy)]
pub struct Key {
    pub address: Address,
    pub secret: B256,
}

impl Key {
    /// Signs a hash.
    pub fn sign(&self, hash: B256) -> Result<Signature, DevelopmentError> {
        // Signing cannot fail here: each secret was derived as a valid secp256k1 key.
        sign_message(self.secret, hash).map_err(|_| DevelopmentError::UnknownAccount(self.address))
    }
}

/// Maximum number of accounts that are impersonated at once.
const MAX_IMPERSONATED: usize = 100_000;

/// Accounts for which a development node sends transactions: those with a stored key, and impersonated ones.
/// Impersonation does not survive a restart.
#[derive(Default)]
pub struct Development {
    /// In the order in which the node prints them.
    keys: Vec<Key>,
    impersonated: RwLock<Impersonated>,
    sending: Mutex<()>,
    /// Number of resets of the chain by this process.
    resets: AtomicU64,
}

#[derive(Debug, Default)]
struct Impersonated {
    accounts: BTreeSet<Address>,
    /// `true` if every account is impersonated.
    all: bool,
}

impl Development {
    /// Creates an instance with these keys and no impersonated accounts.
    pub fn new(keys: Vec<Key>) -> Self {
        Self { keys, ..Self::default() }
    }

    /// Returns the stored keys.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Returns the key of an account.
    pub fn key(&self, address: &Address) -> Option<&Key> {
        self.keys.iter().find(|key| key.address == *address)
    }

    /// Returns the key of one of the node's accounts.
    ///
    /// # Errors
    ///
    /// Returns an error if the account has no stored key.
    pub fn stored_key(&self, address: &Address) -> Result<&Key, DevelopmentError> {
        self.key(address).ok_or(DevelopmentError::UnknownAccount(*address))
    }

    /// Locks sending. A caller holds the lock from choosing the nonce of a transaction until it is pooled.
    pub fn sending(&self) -> MutexGuard<'_, ()> {
        self.sending.lock()
    }

    /// Returns `true` if transactions of this account need no signature.
    pub fn impersonates(&self, address: &Address) -> bool {
        let impersonated = self.impersonated.read();
        impersonated.all || impersonated.accounts.contains(address)
    }

    /// Impersonates an account.
    pub fn impersonate(&self, address: Address) -> Result<(), Limit> {
        let mut impersonated = self.impersonated.write();
        if impersonated.accounts.len() >= MAX_IMPERSONATED && !impersonated.accounts.contains(&address) {
            return Err(Limit { name: "impersonated accounts", max: MAX_IMPERSONATED as u64 });
        }
        impersonated.accounts.insert(address);
        Ok(())
    }

    /// Stops impersonating an account.
    pub fn stop_impersonating(&self, address: &Address) {
        self.impersonated.write().accounts.remove(address);
    }

    /// Returns how often this process has reset the chain.
    pub fn resets(&self) -> u64 {
        self.resets.load(Ordering::Relaxed)
    }

    /// Stops all impersonation, after a reset of the chain.
    pub fn reset(&self) {
        *self.impersonated.write() = Impersonated::default();
        self.resets.fetch_add(1, Ordering::Relaxed);
    }

    /// Impersonates every account, or only the chosen ones.
    pub fn set_impersonate_all(&self, all: bool) {
        self.impersonated.write().all = all;
    }
}
