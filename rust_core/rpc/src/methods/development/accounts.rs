//! Impersonation of accounts on a development node.

use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::object::NULL,
    methods::method::{Access, Method},
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

const ADDRESS: Argument = Argument::required("address", Kind::Address);
const ENABLED: Argument = Argument::required("enabled", Kind::Boolean);
const DEVELOPMENT: Access = Access::Development;

pub const METHODS: &[Method] = &[
    Method::inline("anvil_impersonateAccount", &[ADDRESS], impersonate).with_access(DEVELOPMENT),
    Method::inline("hardhat_impersonateAccount", &[ADDRESS], impersonate).with_access(DEVELOPMENT),
    Method::inline("anvil_stopImpersonatingAccount", &[ADDRESS], stop_impersonating).with_access(DEVELOPMENT),
    Method::inline("hardhat_stopImpersonatingAccount", &[ADDRESS], stop_impersonating)
        .with_access(DEVELOPMENT),
    Method::inline("anvil_autoImpersonateAccount", &[ENABLED], auto_impersonate).with_access(DEVELOPMENT),
];

fn impersonate(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    context.development.impersonate(params.required()?)?;
    Ok(NULL.to_vec())
}

fn stop_impersonating(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    context.development.stop_impersonating(&params.required()?);
    Ok(NULL.to_vec())
}

fn auto_impersonate(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    context.development.set_impersonate_all(params.required()?);
    Ok(NULL.to_vec())
}
