//! Accounts that a development node speaks for.

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

/// Accounts that are impersonated at once.
const MAX_IMPERSONATED: usize = 100_000;

/// Whom a development node speaks for: accounts whose keys it has, and accounts that it impersonates, which is not kept
/// over a restart.
#[derive(Default)]
pub struct Development {
    /// In the order in which they are printed.
    keys: Vec<Key>,
    impersonated: RwLock<Impersonated>,
    sending: Mutex<()>,
}

#[derive(Debug, Default)]
struct Impersonated {
    accounts: BTreeSet<Address>,
    /// Whether everybody is.
    all: bool,
}

impl Development {
    /// Has the keys, and impersonates nobody.
    pub fn new(keys: Vec<Key>) -> Self {
        Self { keys, ..Self::default() }
    }

    /// The keys it has.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// The key of an account.
    pub fn key(&self, address: &Address) -> Option<&Key> {
        self.keys.iter().find(|key| key.address == *address)
    }

    /// The turn of one transaction, from choosing its nonce until it is pooled.
    pub fn sending(&self) -> MutexGuard<'_, ()> {
        self.sending.lock()
    }

    /// Whether transactions of this account need no signature.
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
