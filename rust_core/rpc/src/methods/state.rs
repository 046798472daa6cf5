//! Accounts: balance, code, storage, nonce.

use alloy_primitives::{Address, U256};
use foreseal_chain::{BlockId, HeaderAndState, View};
use foreseal_primitives::Account;
use foreseal_state::{State, StateReader};

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::Error,
    json::hex::{write_data, write_quantity},
    params::{
        argument::{Argument, Kind},
        positional::Params,
        value::StorageWord,
    },
};

const ADDRESS: Argument = Argument::required("address", Kind::Address);
const BLOCK: Argument = Argument::block("block");

pub const METHODS: &[Method] = &[
    Method::inline("eth_getBalance", &[ADDRESS, BLOCK], get_balance),
    Method::inline("eth_getCode", &[ADDRESS, BLOCK], get_code),
    Method::inline(
        "eth_getStorageAt",
        &[ADDRESS, Argument::required("position", Kind::Slot), BLOCK],
        get_storage_at,
    ),
    Method::inline("eth_getTransactionCount", &[ADDRESS, BLOCK], get_transaction_count),
];

fn get_balance(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let address = params.required()?;
    let at = block_or_latest(context, params)?;
    Ok(quantity(account(at.state(), &address)?.balance))
}

fn get_code(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let address = params.required()?;
    let at = block_or_latest(context, params)?;
    let code = at.state().code(&account(at.state(), &address)?.code_hash)?;
    Ok(data(code.original_byte_slice()))
}

fn get_storage_at(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, StorageWord(slot)): (Address, StorageWord) = (params.required()?, params.required()?);
    let at = block_or_latest(context, params)?;
    let value: [u8; 32] = at.state().storage(&address, &slot)?.to_be_bytes();
    Ok(data(&value))
}

fn get_transaction_count(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, id) = (params.required()?, params.block_or_latest()?);
    let nonce = match id {
        BlockId::Pending => next_nonce(context, &address)?,
        sealed => account(context.view()?.header_and_state(sealed)?.state(), &address)?.nonce,
    };
    Ok(quantity(U256::from(nonce)))
}

/// Returns the nonce for the sender's next transaction, after its pre-confirmed and pooled transactions.
///
/// The pool continues from a given nonce, and a step may move transactions from the pool to the view at the
/// same time. The pool's result is therefore valid only if the newest view still has that nonce.
pub fn next_nonce(context: &Context<'_>, address: &Address) -> Result<u64, Error> {
    let pending_nonce = |view: &View| account(&view.pending().state, address).map(|account| account.nonce);
    let mut nonce = pending_nonce(context.view()?)?;
    loop {
        let next = context.node.pool().next_nonce(address, nonce);
        let newest = pending_nonce(context.newest_view()?.as_ref())?;
        if newest <= nonce {
            return Ok(next.max(nonce));
        }
        nonce = newest;
    }
}

/// Reads the block of the next argument; the default is the newest sealed block.
fn block_or_latest(context: &Context<'_>, params: &mut Params<'_>) -> Result<HeaderAndState, Error> {
    let id = params.block_or_latest()?;
    Ok(context.view()?.header_and_state(id)?)
}

fn account(state: &State, address: &Address) -> Result<Account, Error> {
    Ok(state.account(address)?.unwrap_or_default())
}

fn quantity(value: U256) -> Vec<u8> {
    let mut out = Vec::with_capacity(68);
    write_quantity(&mut out, value);
    out
}

fn data(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * bytes.len() + 4);
    write_data(&mut out, bytes);
    out
}
