//! Method that returns a pre-confirmation receipt.

use alloy_primitives::B256;
use alloy_rlp::Encodable;
use foreseal_chain::{ExecutedBlock, Step, View};
use foreseal_primitives::{CommitmentDomain, FlashblockCommitment};
use foreseal_trie::ListTrie;

use crate::{
    context::call_context::Context,
    errors::{error::Error, unsigned_error::UnsignedError},
    json::{hex::write_data, object::Object},
    methods::method::Method,
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

const HASH: Argument = Argument::required("hash", Kind::Hash);

pub const METHODS: &[Method] =
    &[Method::worker_pool("foreseal_preconfirmation", &[HASH], preconfirmation).in_read_lane()];

/// Returns the receipt of the first step that contains the transaction, or `null` if no block contains it.
fn preconfirmation(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let hash = params.required()?;
    match context.view()?.transaction(&hash)? {
        Some((block, position)) => receipt(context.view()?, &block, (hash, position)),
        None => Ok(b"null".to_vec()),
    }
}

fn receipt(view: &View, block: &ExecutedBlock, (hash, position): (B256, usize)) -> Result<Vec<u8>, Error> {
    let (number, steps) = (block.number(), view.steps(block)?);
    let index = steps.iter().position(|step| step.transactions > position);
    let index = index.ok_or(UnsignedError::Imported { number })?;
    let step: &Step = &steps[index];
    let previous = match index.checked_sub(1) {
        Some(before) => steps[before].hash,
        None => step.header.parent_hash,
    };
    let promise =
        FlashblockCommitment { number, index: index as u64, hash: step.hash, previous, time: step.time };
    let chain_id = view.spec().chain_id();
    let signer =
        step.signature.and_then(|signature| promise.signer(CommitmentDomain::new(chain_id), &signature));
    let (Some(signature), Some(signer)) = (step.signature, signer) else {
        return Err(UnsignedError::Step { number, index: promise.index }.into());
    };
    let mut list = ListTrie::default();
    list.extend(block.block.transactions.iter().take(step.transactions).map(|one| one.encoded().clone()));
    let mut header = Vec::with_capacity(step.header.length());
    step.header.encode(&mut header);
    let mut out = Vec::with_capacity(4096);
    let mut object = Object::open(&mut out);
    if view.spec().optimism().is_some() {
        // A driver may abandon the block.
        object.text("binds", "engine");
    }
    object
        .quantity("chainId", chain_id)
        .data("transactionHash", hash)
        .quantity("transactionIndex", position as u64)
        .data("transaction", block.block.transactions[position].encoded())
        .quantity("blockNumber", number)
        .quantity("flashblockIndex", promise.index)
        .data("hash", promise.hash)
        .data("header", header)
        .data("previous", previous)
        .quantity("time", promise.time)
        .data("signature", signature)
        .data("signer", signer)
        .list("proof", list.prove(position), |out, node| write_data(out, &node))
        .close();
    Ok(out)
}
