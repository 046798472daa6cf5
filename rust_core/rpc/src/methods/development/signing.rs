//! Accounts of a development node, and signatures with their keys.

use alloy_primitives::{Address, B256, Bytes, eip191_hash_message};

use crate::{
    context::{call_context::Context, keys::Key},
    errors::error::Error,
    json::{hex::write_data, object::write_list},
    methods::method::{Access, Method},
    params::{
        argument::{Argument, Kind},
        positional::Params,
        typed_data::TypedData,
        value::Password,
    },
};

const ADDRESS: Argument = Argument::required("address", Kind::Address);
const DATA: Argument = Argument::required("data", Kind::Data);
const PASSWORD: Argument = Argument::optional("password", Kind::Password).or("it means nothing here");
const TYPED_DATA: Argument = Argument::required("typedData", Kind::TypedData);
const DEVELOPMENT: Access = Access::Development;

pub const METHODS: &[Method] = &[
    Method::inline("eth_accounts", &[], accounts).with_access(DEVELOPMENT),
    Method::worker_pool("eth_sign", &[ADDRESS, DATA], eth_sign).with_access(DEVELOPMENT),
    Method::worker_pool("personal_sign", &[DATA, ADDRESS, PASSWORD], personal_sign).with_access(DEVELOPMENT),
    // `eth_signTypedData` is the name in EIP-712; wallets use the `_v4` name because older formats exist.
    Method::worker_pool("eth_signTypedData", &[ADDRESS, TYPED_DATA], sign_typed_data)
        .with_access(DEVELOPMENT),
    Method::worker_pool("eth_signTypedData_v4", &[ADDRESS, TYPED_DATA], sign_typed_data)
        .with_access(DEVELOPMENT),
];

/// Returns the addresses of the accounts in the order in which the node prints them.
#[allow(clippy::unnecessary_wraps, reason = "methods have the signature of the table")]
fn accounts(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    write_list(&mut out, context.development.keys(), |out, key| write_data(out, key.address.as_slice()));
    Ok(out)
}

/// Signs data with the EIP-191 prefix, like other nodes, so that the signature is never valid for a
/// transaction.
fn eth_sign(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, data): (Address, Bytes) = (params.required()?, params.required()?);
    signature(context.development.stored_key(&address)?, eip191_hash_message(data))
}

/// Signs like `eth_sign`, with the parameters in reverse order. Keys are never locked, so the password is
/// ignored.
fn personal_sign(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (data, address): (Bytes, Address) = (params.required()?, params.required()?);
    let _: Option<Password> = params.optional()?;
    signature(context.development.stored_key(&address)?, eip191_hash_message(data))
}

fn sign_typed_data(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, TypedData(hash)): (Address, TypedData) = (params.required()?, params.required()?);
    signature(context.development.stored_key(&address)?, hash)
}

/// Returns the signature as r, s and v; v is 27 or 28.
fn signature(key: &Key, hash: B256) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    write_data(&mut out, &key.sign(hash)?.as_bytes());
    Ok(out)
}
