//! `eth_sendRawTransaction`.

use alloy_primitives::Bytes;
use foreseal_node::Node;
use foreseal_pool::UnverifiedTransaction;

use super::{method::Method, panic_guard::guarded};
use crate::{
    context::call_context::Context,
    errors::{error::Error, rpc_error::RpcError},
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
    streams::wait::{AfterSubmission, PendingVerification, Reply, submit},
};

/// Name of the method.
pub const SEND: &str = "eth_sendRawTransaction";

const ARGUMENTS: &[Argument] = &[Argument::required("data", Kind::Data)];

pub const METHODS: &[Method] = &[Method::waiting(SEND, ARGUMENTS, send_raw_transaction)];

fn send_raw_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Reply, Error> {
    let submission = decode(context.node, params)?;
    let hash = submission.hash();
    submit(context.node, submission, false, AfterSubmission::Hash(hash))
}

fn decode(node: &Node, params: &mut Params<'_>) -> Result<UnverifiedTransaction, Error> {
    let raw: Bytes = params.required()?;
    Ok(node.decode(&raw)?)
}

/// Decodes a submission and runs all fast checks that need no state. Not for a follower.
pub fn read_submission(node: &Node, params: &[u8]) -> Result<UnverifiedTransaction, RpcError> {
    let read = || decode(node, &mut Params::parse(params, SEND, ARGUMENTS)?);
    guarded(SEND, read).map_err(RpcError::from)
}

/// Admits a submission to the pool, unless it is to be verified first. The result is the hash as JSON. Not for a
/// follower.
pub fn admit(node: &Node, submission: UnverifiedTransaction) -> Result<Reply, RpcError> {
    let then = AfterSubmission::Hash(submission.hash());
    guarded(SEND, || submit(node, submission, false, then)).map_err(RpcError::from)
}

/// Verifies a submission and admits it to the pool.
pub fn verify(node: &Node, pending: PendingVerification) -> Result<Reply, RpcError> {
    guarded(SEND, || pending.run(node)).map_err(RpcError::from)
}
