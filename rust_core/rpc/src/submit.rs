//! `eth_sendRawTransaction`.

use alloy_primitives::Bytes;
use foreseal_node::Node;
use foreseal_pool::Submission;

use crate::{
    Api, Argument, Context, Error, Kind, Method, Reply, RpcError,
    api::guarded,
    params::Params,
    wait::{Then, submit},
};

/// Name of the method.
pub const SEND: &str = "eth_sendRawTransaction";

const ARGUMENTS: &[Argument] = &[Argument::required("data", Kind::Data)];

pub const METHODS: &[Method] = &[Method::waiting(SEND, ARGUMENTS, send_raw_transaction)];

fn send_raw_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Reply, Error> {
    let submission = decode(context.node, params)?;
    let hash = submission.hash();
    submit(context.node, submission, false, Then::Hash(hash))
}

fn decode(node: &Node, params: &mut Params<'_>) -> Result<Submission, Error> {
    let raw: Bytes = params.required()?;
    Ok(node.decode(&raw)?)
}

/// The two halves of the method, for batches of submissions. Not for a follower.
impl Api {
    /// Decodes a submission and runs all checks that need no state.
    pub(crate) fn read_submission(&self, params: &[u8]) -> Result<Submission, RpcError> {
        let read = || decode(self.node(), &mut Params::parse(params, SEND, ARGUMENTS)?);
        guarded(SEND, read).map_err(RpcError::from)
    }

    /// Admits a submission to the pool. Returns the hash as JSON.
    pub(crate) fn admit(&self, submission: Submission) -> Result<bytes::Bytes, RpcError> {
        let then = Then::Hash(submission.hash());
        let reply = guarded(SEND, || submit(self.node(), submission, false, then));
        match reply.map_err(RpcError::from)? {
            Reply::Ready(answer) => Ok(answer),
            Reply::Later(wait) => Err(wait.give_up().into()),
        }
    }
}
