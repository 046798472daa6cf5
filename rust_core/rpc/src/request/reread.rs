//! Repetition of reads whose view an unwind has overtaken.

use std::{sync::Arc, time::Duration};

use foreseal_chain::View;
use foreseal_node::Node;
use foreseal_scheduler::checkpoint;

use crate::errors::{error::Error, rpc_error::RpcError};

/// Interval of checks for the view after an unwind, and their maximum number. The node publishes the view moments
/// after its store has unwound.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
const MAX_CHECKS: u32 = 500;

/// Runs `read` with `view`. Runs it again with the newest view whenever an unwind has replaced the blocks that it
/// reads from the store.
///
/// # Errors
///
/// Returns the error of `read`, or -32002 if the node publishes no newer view for 5 s.
pub fn reread<T>(
    node: &Node,
    view: Option<&Arc<View>>,
    mut read: impl FnMut(Option<&Arc<View>>) -> Result<T, RpcError>,
) -> Result<T, RpcError> {
    let (mut view, mut checks) = (view.cloned(), 0);
    loop {
        let result = read(view.as_ref());
        if !result.as_ref().is_err_and(RpcError::is_view_gone) {
            return result;
        }
        // Read before the view, so that the wait ends with any view after it.
        let mut seen = node.changes().count();
        let mut newest = node.view();
        while newest.as_ref().map(Arc::as_ptr) == view.as_ref().map(Arc::as_ptr) {
            if checks == MAX_CHECKS {
                return Err(Error::Reorganizing.into());
            }
            checks += 1;
            checkpoint().map_err(Error::from)?;
            node.changes().wait(seen, CHECK_INTERVAL);
            (seen, newest) = (node.changes().count(), node.view());
        }
        view = newest;
    }
}
