//! Accounts that a development node speaks for.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use parking_lot::RwLock;

use crate::{Access, Argument, Context, Error, Kind, Method, params::Params};

use super::NULL;

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

/// For whom a development node sends without their key. Not kept over a restart.
#[derive(Debug, Default)]
pub struct Development {
    impersonated: RwLock<Impersonated>,
}

#[derive(Debug, Default)]
struct Impersonated {
    accounts: BTreeSet<Address>,
    /// Whether everybody is.
    all: bool,
}

impl Development {
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
