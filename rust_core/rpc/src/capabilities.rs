//! `eth_capabilities`: the blocks for which this node has data.

use foreseal_state::StateError;

use crate::{Context, Error, Method, json::Object, params::Params};

pub const METHODS: &[Method] = &[Method::threaded("eth_capabilities", &[], eth_capabilities).in_read_lane()];

/// Resources that the node retains from genesis on.
const COMPLETE: [&str; 5] = ["state", "tx", "logs", "receipts", "blocks"];

/// Returns the newest sealed block, and the oldest block of each resource. Only proofs have a limited window.
fn eth_capabilities(context: &Context<'_>, _: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let latest = &context.view()?.latest().block;
    let window = context.node.settings().store.proofs;
    let progress = context.node.store().reader().and_then(|reader| reader.progress());
    let proofs_from = progress.map_err(|error| StateError::Store(error.to_string()))?.proofs_from;
    let mut out = Vec::with_capacity(512);
    let mut object = Object::open(&mut out);
    Object::open(object.name("head"))
        .quantity("number", latest.header.number)
        .data("hash", latest.hash)
        .close();
    for name in COMPLETE {
        Object::open(object.name(name)).json("disabled", "false").quantity("oldestBlock", 0u64).close();
    }
    let mut proofs = Object::open(object.name("stateproofs"));
    proofs
        .json("disabled", "false")
        .quantity("oldestBlock", latest.header.number.saturating_sub(window).max(proofs_from));
    Object::open(proofs.name("deleteStrategy"))
        .json("type", "\"window\"")
        .quantity("retentionBlocks", window)
        .close();
    proofs.close();
    object.close();
    Ok(out)
}
