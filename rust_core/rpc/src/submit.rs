//! Submission.

use alloy_primitives::Bytes;

use crate::{Argument, Context, Error, Kind, Method, json::write_data, params::Params};

pub const METHODS: &[Method] = &[Method::threaded(
    "eth_sendRawTransaction",
    &[Argument::required("data", Kind::Data)],
    send_raw_transaction,
)];

fn send_raw_transaction(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let raw: Bytes = params.required()?;
    let hash = context.node.submit(&raw)?;
    let mut out = Vec::new();
    write_data(&mut out, hash.as_slice());
    Ok(out)
}
