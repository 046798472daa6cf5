//! Submission.

use alloy_primitives::Bytes;

use crate::{
    Argument, Context, Error, Kind, Method, Reply,
    params::Params,
    wait::{Then, submit},
};

pub const METHODS: &[Method] = &[Method::waiting(
    "eth_sendRawTransaction",
    &[Argument::required("data", Kind::Data)],
    send_raw_transaction,
)];

fn send_raw_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Reply, Error> {
    let raw: Bytes = params.required()?;
    let submission = context.node.decode(&raw)?;
    let hash = submission.hash();
    submit(context.node, submission, false, Then::Hash(hash))
}
