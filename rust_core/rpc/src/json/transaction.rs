//! Transactions. Each type has exactly the fields that the execution API defines for it.

use alloy_consensus::{Header, Transaction as _};
use alloy_eips::{Typed2718, eip2930::AccessList, eip7702::SignedAuthorization};
use alloy_primitives::{B256, U256};
use foreseal_primitives::{Block, DEPOSIT_RECEIPT_VERSION, Envelope, SignedEnvelope, Transaction, TxDeposit};

use super::{
    hex::write_data,
    object::{Object, write_list},
};

/// Position of a transaction in a block; a pooled transaction has none.
#[derive(Clone, Copy, Debug)]
pub struct Inclusion<'a> {
    pub header: &'a Header,
    pub block_hash: &'a B256,
    /// Index in the block.
    pub index: u64,
    /// Nonce of the sender before a deposit of an OP chain.
    pub deposit_nonce: Option<u64>,
}

impl<'a> Inclusion<'a> {
    /// Returns the position at `index` of `block`.
    pub fn new(block: &'a Block, index: u64) -> Self {
        let receipt = usize::try_from(index).ok().and_then(|index| block.receipts.get(index));
        let deposit_nonce = receipt.and_then(|receipt| receipt.deposit_nonce);
        Self { header: &block.header, block_hash: &block.hash, index, deposit_nonce }
    }
}

/// Writes a transaction. Without `inclusion`, its block fields are `null` and `gasPrice` is its fee cap.
pub fn write_transaction(out: &mut Vec<u8>, transaction: &Transaction, inclusion: Option<Inclusion<'_>>) {
    let mut object = Object::open(out);
    write_transaction_fields(&mut object, transaction, inclusion);
    object.close();
}

/// Writes the fields of [`write_transaction`].
pub fn write_transaction_fields(
    object: &mut Object<'_>,
    transaction: &Transaction,
    inclusion: Option<Inclusion<'_>>,
) {
    let envelope = transaction.envelope();
    match inclusion {
        Some(at) => object
            .data("blockHash", at.block_hash)
            .quantity("blockNumber", at.header.number)
            .quantity("blockTimestamp", at.header.timestamp)
            .quantity("transactionIndex", at.index),
        None => object
            .json("blockHash", "null")
            .json("blockNumber", "null")
            .json("blockTimestamp", "null")
            .json("transactionIndex", "null"),
    };
    let gas_price = match inclusion {
        Some(at) => transaction.effective_gas_price(at.header.base_fee_per_gas),
        None => envelope.max_fee_per_gas(),
    };
    object
        .data("hash", transaction.hash())
        .quantity("type", u64::from(envelope.ty()))
        .optional_quantity("chainId", envelope.chain_id())
        .quantity("nonce", inclusion.and_then(|at| at.deposit_nonce).unwrap_or_else(|| envelope.nonce()))
        .data("from", transaction.sender())
        .nullable_data("to", envelope.to())
        .quantity("value", envelope.value())
        .data("input", envelope.input())
        .quantity("gas", envelope.gas_limit())
        .quantity("gasPrice", gas_price);
    match envelope {
        Envelope::Signed(signed) => {
            write_typed_fields(object, signed);
            write_signature(object, signed);
        }
        Envelope::Deposit(deposit) => write_deposit_fields(object, deposit.inner()),
    }
}

/// Writes the fields that only deposits have, and a signature of zeros, which clients expect.
fn write_deposit_fields(object: &mut Object<'_>, deposit: &TxDeposit) {
    object
        .data("sourceHash", deposit.source_hash)
        .quantity("mint", deposit.mint)
        .quantity("depositReceiptVersion", DEPOSIT_RECEIPT_VERSION)
        .quantity("v", 0_u64)
        .quantity("r", 0_u64)
        .quantity("s", 0_u64);
}

/// Writes the fields that only typed transactions have.
fn write_typed_fields(object: &mut Object<'_>, envelope: &SignedEnvelope) {
    if envelope.is_dynamic_fee() {
        object
            .quantity("maxFeePerGas", envelope.max_fee_per_gas())
            .optional_quantity("maxPriorityFeePerGas", envelope.max_priority_fee_per_gas());
    }
    if let Some(list) = envelope.access_list() {
        write_access_list(object.name("accessList"), list);
    }
    object.optional_quantity("maxFeePerBlobGas", envelope.max_fee_per_blob_gas());
    if let Some(hashes) = envelope.blob_versioned_hashes() {
        object.list("blobVersionedHashes", hashes, |out, hash| write_data(out, hash.as_slice()));
    }
    if let Some(list) = envelope.authorization_list() {
        object.list("authorizationList", list, write_authorization);
    }
}

/// Writes an access list (EIP-2930).
pub fn write_access_list(out: &mut Vec<u8>, list: &AccessList) {
    write_list(out, list.iter(), |out, item| {
        Object::open(out)
            .data("address", item.address)
            .list("storageKeys", &item.storage_keys, |out, key| write_data(out, key.as_slice()))
            .close();
    });
}

fn write_authorization(out: &mut Vec<u8>, authorization: &SignedAuthorization) {
    Object::open(out)
        .quantity("chainId", authorization.chain_id)
        .data("address", authorization.address)
        .quantity("nonce", authorization.nonce)
        .quantity("yParity", u64::from(authorization.y_parity()))
        .quantity("r", authorization.r())
        .quantity("s", authorization.s())
        .close();
}

/// Writes the signature.
///
/// `v` of a legacy transaction contains the chain id (EIP-155). Typed transactions have their parity as both
/// `v` and `yParity`.
fn write_signature(object: &mut Object<'_>, envelope: &SignedEnvelope) {
    let signature = envelope.signature();
    let parity = u64::from(signature.v());
    if envelope.is_legacy() {
        let offset = envelope.chain_id().map_or(27, |id| u128::from(id) * 2 + 35);
        object.quantity("v", offset + u128::from(parity));
    } else {
        object.quantity("v", parity).quantity("yParity", parity);
    }
    let (r, s): (U256, U256) = (signature.r(), signature.s());
    object.quantity("r", r).quantity("s", s);
}
