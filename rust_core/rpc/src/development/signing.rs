//! Accounts whose keys a development node has, and what it signs with them.

use alloy_consensus::crypto::secp256k1::sign_message;
use alloy_primitives::{Address, B256, Bytes, Signature, eip191_hash_message};

use crate::{
    Access, Argument, Context, Error, Kind, Method,
    json::{write_data, write_list},
    params::{Params, Password, TypedData},
};

use super::DevelopmentError;

const ADDRESS: Argument = Argument::required("address", Kind::Address);
const DATA: Argument = Argument::required("data", Kind::Data);
const PASSWORD: Argument = Argument::optional("password", Kind::Password).or("it means nothing here");
const TYPED_DATA: Argument = Argument::required("typedData", Kind::TypedData);
const DEVELOPMENT: Access = Access::Development;

pub const METHODS: &[Method] = &[
    Method::inline("eth_accounts", &[], accounts).only(DEVELOPMENT),
    Method::threaded("eth_sign", &[ADDRESS, DATA], eth_sign).only(DEVELOPMENT),
    Method::threaded("personal_sign", &[DATA, ADDRESS, PASSWORD], personal_sign).only(DEVELOPMENT),
    // As the EIP calls it, and as wallets do since there are older forms of it.
    Method::threaded("eth_signTypedData", &[ADDRESS, TYPED_DATA], sign_typed_data).only(DEVELOPMENT),
    Method::threaded("eth_signTypedData_v4", &[ADDRESS, TYPED_DATA], sign_typed_data).only(DEVELOPMENT),
];

/// A key and the account that it is of.
#[derive(Clone, Copy)]
pub struct Key {
    pub address: Address,
    pub secret: B256,
}

impl Key {
    /// Signs a hash.
    pub fn sign(&self, hash: B256) -> Result<Signature, Error> {
        // No secret is zero or beyond the curve's order: each was derived as a key.
        sign_message(self.secret, hash).map_err(|_| DevelopmentError::UnknownAccount(self.address).into())
    }
}

impl Context<'_> {
    /// The key of one of the node's accounts.
    pub(super) fn key(&self, address: &Address) -> Result<&Key, Error> {
        let unknown = || DevelopmentError::UnknownAccount(*address).into();
        self.development.key(address).ok_or_else(unknown)
    }
}

/// In the order in which they are printed.
#[allow(clippy::unnecessary_wraps, reason = "methods have the signature of the table")]
fn accounts(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    write_list(&mut out, context.development.keys(), |out, key| write_data(out, key.address.as_slice()));
    Ok(out)
}

/// Signs data with the prefix of EIP-191, as every node does by now: no transaction can be signed in this way.
fn eth_sign(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, data): (Address, Bytes) = (params.required()?, params.required()?);
    signature(context.key(&address)?, eip191_hash_message(data))
}

/// The same with its parameters the other way round; keys are not locked, so a password changes nothing.
fn personal_sign(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (data, address): (Bytes, Address) = (params.required()?, params.required()?);
    let _: Option<Password> = params.optional()?;
    signature(context.key(&address)?, eip191_hash_message(data))
}

fn sign_typed_data(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, TypedData(hash)): (Address, TypedData) = (params.required()?, params.required()?);
    signature(context.key(&address)?, hash)
}

/// r, s and v, which is 27 or 28.
fn signature(key: &Key, hash: B256) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    write_data(&mut out, &key.sign(hash)?.as_bytes());
    Ok(out)
}
