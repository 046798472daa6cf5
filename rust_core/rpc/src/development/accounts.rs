//! Accounts for which a development node sends transactions.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::{Access, Argument, Context, Error, Kind, Method, params::Params};

use super::{Key, NULL};

const ADDRESS: Argument = Argument::required("address", Kind::Address);
const ENABLED: Argument = Argument::required("enabled", Kind::Boolean);
const DEVELOPMENT: Access = Access::Development;

pub const METHODS: &[Method] = &[
    Method::inline("anvil_impersonateAccount", &[ADDRESS], impersonate).only(DEVELOPMENT),
    Method::inline("hardhat_impersonateAccount", &[ADDRESS], impersonate).only(DEVELOPMENT),
    Method::inline("anvil_stopImpersonatingAccount", &[ADDRESS], stop_impersonating).only(DEVELOPMENT),
    Method::inline("hardhat_stopImpersonatingAccount", &[ADDRESS], stop_impersonating).only(DEVELOPMENT),
    Method::inline("anvil_autoImpersonateAccount", &[ENABLED], auto_impersonate).only(DEVELOPMENT),
];

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

    /// Locks sending. A caller holds the lock from choosing the nonce of a transaction until it is pooled.
    pub fn sending(&self) -> MutexGuard<'_, ()> {
        self.sending.lock()
    }

    /// Returns `true` if transactions of this account need no signature.
    pub fn impersonates(&self, address: &Address) -> bool {
        let impersonated = self.impersonated.read();
        impersonated.all || impersonated.accounts.contains(address)
    }
}

fn impersonate(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let address: Address = params.required()?;
    let mut impersonated = context.development.impersonated.write();
    if impersonated.accounts.len() >= MAX_IMPERSONATED && !impersonated.accounts.contains(&address) {
        return Err(crate::Limit { name: "impersonated accounts", max: MAX_IMPERSONATED as u64 }.into());
    }
    impersonated.accounts.insert(address);
    Ok(NULL.to_vec())
}

fn stop_impersonating(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let address: Address = params.required()?;
    context.development.impersonated.write().accounts.remove(&address);
    Ok(NULL.to_vec())
}

fn auto_impersonate(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let enabled = params.required()?;
    context.development.impersonated.write().all = enabled;
    Ok(NULL.to_vec())
}
