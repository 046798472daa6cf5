//! Merkle proofs of accounts and slots (EIP-1186).

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use foreseal_primitives::Account;
use foreseal_state::{AccountProof, SlotProof};

use super::method::Method;
use crate::{
    context::call_context::Context,
    errors::error::{Error, Limit},
    json::{
        answer_size::{SizeBounds, data_size},
        hex::write_data,
        object::Object,
    },
    params::{
        argument::{Argument, Kind},
        positional::Params,
        storage::StorageKey,
    },
};

pub const METHODS: &[Method] = &[Method::worker_pool(
    "eth_getProof",
    &[
        Argument::required("address", Kind::Address),
        Argument::required("slots", Kind::Slots),
        Argument::block("block"),
    ],
    get_proof,
)];

/// Upper bounds of the sizes of an account and of a slot as JSON without nodes, in bytes.
const ACCOUNT: usize = 512;
const SLOT: usize = 192;

/// Returns an account and slots of it, with the trie nodes that prove their presence or absence.
fn get_proof(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let (address, keys): (Address, Vec<StorageKey>) = (params.required()?, params.required()?);
    Limit { name: "slots", max: context.limits.slots }.check(keys.len())?;
    let view = context.view()?;
    let at = view.header_and_state(params.block_or_latest()?)?;
    let slots: Vec<U256> = keys.iter().map(|key| key.slot).collect();
    let mut proof = at.state().prove_account(&address, &slots)?;
    if proof.account.is_none() && view.spec().optimism().is_some() {
        // An absent account of an OP chain has hashes of zero, as in op-geth.
        proof.account = Some(Account { code_hash: B256::ZERO, ..Account::default() });
        proof.storage_root = B256::ZERO;
    }
    context.check_size(proof_size(&proof), false)?;
    let mut out = Vec::new();
    write_proof(&mut out, &proof, &keys);
    Ok(out)
}

/// Returns the bounds of the size of a proof.
fn proof_size(proof: &AccountProof) -> SizeBounds {
    let nodes = |nodes: &[Bytes]| {
        nodes.iter().map(|node| SizeBounds::exact(data_size(node.len())).plus(1)).sum::<SizeBounds>()
    };
    let slots = proof.slots.iter().map(|slot| nodes(&slot.nodes).plus(SLOT)).sum();
    [nodes(&proof.nodes).plus(ACCOUNT), slots].into_iter().sum()
}

fn write_proof(out: &mut Vec<u8>, proof: &AccountProof, keys: &[StorageKey]) {
    let absent = Account { code_hash: KECCAK256_EMPTY, ..Account::default() };
    let account = proof.account.unwrap_or(absent);
    Object::open(out)
        .data("address", proof.address)
        .list("accountProof", &proof.nodes, write_node)
        .quantity("balance", account.balance)
        .data("codeHash", account.code_hash)
        .quantity("nonce", account.nonce)
        .data("storageHash", proof.storage_root)
        .list("storageProof", keys.iter().zip(&proof.slots), write_slot)
        .close();
}

/// Writes a slot. As in geth, the key has the format of the request: 32 bytes, or a quantity.
fn write_slot(out: &mut Vec<u8>, (key, proof): (&StorageKey, &SlotProof)) {
    let mut object = Object::open(out);
    if key.whole {
        object.data("key", key.slot.to_be_bytes::<32>());
    } else {
        object.quantity("key", key.slot);
    }
    object.quantity("value", proof.value).list("proof", &proof.nodes, write_node).close();
}

fn write_node(out: &mut Vec<u8>, node: &Bytes) {
    write_data(out, node);
}
