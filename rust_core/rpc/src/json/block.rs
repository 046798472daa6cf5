//! Blocks. Sealed and pending blocks have the same shape; no field is ever `null`.

use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::B256;
use foreseal_primitives::Block;

use super::{
    hex::write_data,
    object::Object,
    pace::paced,
    transaction::{Inclusion, write_transaction},
};

/// Writes a block, with its transactions in full or as hashes.
pub fn write_block(out: &mut Vec<u8>, block: &Block, full: bool) {
    let mut object = Object::open(out);
    write_block_fields(&mut object, block, full);
    object.close();
}

/// Writes a header for subscribers: only the fields of the header and its hash.
pub fn write_header(out: &mut Vec<u8>, block: &Block) {
    let mut object = Object::open(out);
    write_header_fields(&mut object, &block.header, &block.hash);
    object.close();
}

/// Writes the fields of [`write_block`].
pub fn write_block_fields(object: &mut Object<'_>, block: &Block, full: bool) {
    write_header_fields(object, &block.header, &block.hash);
    object.quantity("size", u64::try_from(block.size()).expect("a size in memory fits 64 bits"));
    let numbered = (0..).zip(paced(&block.transactions));
    object.list("transactions", numbered, |out, (index, transaction)| {
        if full {
            write_transaction(out, transaction, Some(Inclusion::new(block, index)));
        } else {
            write_data(out, transaction.hash().as_slice());
        }
    });
    object.list("uncles", &block.uncles, |out, uncle| write_data(out, uncle.hash_slow().as_slice()));
    if let Some(withdrawals) = &block.withdrawals {
        object.list("withdrawals", withdrawals.iter(), write_withdrawal);
    }
}

/// Writes the fields of a header and its hash. Fields of later forks appear from their fork on.
fn write_header_fields(object: &mut Object<'_>, header: &Header, hash: &B256) {
    object
        .quantity("number", header.number)
        .data("hash", hash)
        .data("parentHash", header.parent_hash)
        .data("nonce", header.nonce)
        .data("sha3Uncles", header.ommers_hash)
        .data("logsBloom", header.logs_bloom)
        .data("transactionsRoot", header.transactions_root)
        .data("stateRoot", header.state_root)
        .data("receiptsRoot", header.receipts_root)
        .data("miner", header.beneficiary)
        .quantity("difficulty", header.difficulty)
        .data("mixHash", header.mix_hash)
        .data("extraData", &header.extra_data)
        .quantity("gasLimit", header.gas_limit)
        .quantity("gasUsed", header.gas_used)
        .quantity("timestamp", header.timestamp)
        .optional_quantity("baseFeePerGas", header.base_fee_per_gas)
        .optional_data("withdrawalsRoot", header.withdrawals_root)
        .optional_quantity("blobGasUsed", header.blob_gas_used)
        .optional_quantity("excessBlobGas", header.excess_blob_gas)
        .optional_data("parentBeaconBlockRoot", header.parent_beacon_block_root)
        .optional_data("requestsHash", header.requests_hash);
}

/// Writes a withdrawal (EIP-4895).
pub fn write_withdrawal(out: &mut Vec<u8>, withdrawal: &Withdrawal) {
    Object::open(out)
        .quantity("index", withdrawal.index)
        .quantity("validatorIndex", withdrawal.validator_index)
        .data("address", withdrawal.address)
        .quantity("amount", withdrawal.amount)
        .close();
}
