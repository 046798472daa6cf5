//! State overrides without a transaction. They take effect in the next step of the pending block, and in
//! `latest` once that block is sealed.

use alloy_primitives::{Address, B256, Bytes};
use foreseal_primitives::{Change, Override};

use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::object::NULL,
    methods::method::{Access, Method},
    params::{
        argument::{Argument, Kind},
        development::{Amount, Number},
        positional::Params,
    },
};

const ADDRESS: Argument = Argument::required("address", Kind::Address);
const BALANCE: &[Argument] = &[ADDRESS, Argument::required("balance", Kind::Amount)];
const NONCE: &[Argument] = &[ADDRESS, Argument::required("nonce", Kind::Number)];
const CODE: &[Argument] = &[ADDRESS, Argument::required("code", Kind::Data)];
const STORAGE: &[Argument] =
    &[ADDRESS, Argument::required("position", Kind::Amount), Argument::required("value", Kind::Hash)];
const DEVELOPMENT: Access = Access::Development;

pub const METHODS: &[Method] = &[
    Method::worker_pool("anvil_setBalance", BALANCE, set_balance).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_setBalance", BALANCE, set_balance).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setCode", CODE, set_code).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_setCode", CODE, set_code).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setNonce", NONCE, set_nonce).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_setNonce", NONCE, set_nonce).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_setStorageAt", STORAGE, set_storage_at).with_access(DEVELOPMENT),
    Method::worker_pool("hardhat_setStorageAt", STORAGE, set_storage_at).with_access(DEVELOPMENT),
];

fn set_balance(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, Amount(wei)) = (params.required()?, params.required()?);
    write(context, address, Change::Balance(wei))?;
    Ok(NULL.to_vec())
}

fn set_code(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, code): (Address, Bytes) = (params.required()?, params.required()?);
    write(context, address, Change::Code(code))?;
    Ok(NULL.to_vec())
}

fn set_nonce(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, Number(nonce)) = (params.required()?, params.required()?);
    write(context, address, Change::Nonce(nonce))?;
    Ok(NULL.to_vec())
}

fn set_storage_at(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, Amount(slot), value): (Address, Amount, B256) =
        (params.required()?, params.required()?, params.required()?);
    write(context, address, Change::Slot { slot, value: value.into() })?;
    Ok(b"true".to_vec())
}

fn write(context: &Context<'_>, address: Address, change: Change) -> Result<(), Error> {
    Ok(context.node.develop(|development| development.write(&Override { address, change }))?)
}
