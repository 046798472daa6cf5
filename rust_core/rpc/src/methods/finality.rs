//! Safe and finalized blocks, set by an external settlement process.

use foreseal_chain::{BlockId, HeaderAndState};

use super::method::{Access, Method};
use crate::{
    context::call_context::Context,
    errors::error::Error,
    params::{
        argument::{Argument, Kind},
        development::Finality,
        positional::Params,
    },
};

pub const METHODS: &[Method] = &[Method::worker_pool(
    "foreseal_setFinality",
    &[Argument::required("finality", Kind::Finality)],
    set_finality,
)
.with_access(Access::Admin)];

/// Sets the safe and the finalized block; a field left out stays unchanged.
///
/// After the first call, neither follows `latest` at a fixed depth any more.
fn set_finality(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let Finality { safe, finalized } = params.required()?;
    let node = context.node;
    let requested = node.control(|writer| {
        // Resolved under the writer's lock, so that the chain cannot change in between.
        let numbers = context.newest_view().and_then(|view| {
            let number = |id: Option<BlockId>| id.map(|id| view.header_and_state(id)).transpose();
            Ok((number(safe)?, number(finalized)?))
        });
        match numbers {
            Ok((safe, finalized)) => {
                let number = |block: Option<HeaderAndState>| block.map(|block| block.header().number);
                writer.set_finality(number(safe), number(finalized)).map(Ok)
            }
            Err(error) => Ok(Err(error)),
        }
    })?;
    requested.map(|()| b"true".to_vec())
}
