//! Loading of the trusted setup of blobs before the first blob transaction arrives.

use std::thread;

use foreseal_node::Node;
use foreseal_pool::load_trusted_setup;
use foreseal_scheduler::lower_priority;

/// Nice value of the thread: everything else goes first.
const NICE: i32 = 19;

/// Loads the setup on a thread with the lowest priority, if the chain accepts blobs. Until it is loaded, blob
/// transactions wait for it.
pub fn load_in_background(node: &Node) {
    let spec = node.spec();
    // A fork that is still to come has a timestamp below this one.
    if spec.optimism().is_some() || spec.blob_params(u64::MAX).is_none() {
        return;
    }
    let load = || {
        lower_priority(NICE);
        load_trusted_setup();
        tracing::debug!("loaded the trusted setup of blobs");
    };
    if let Err(error) = thread::Builder::new().name("foreseal-kzg".to_owned()).spawn(load) {
        tracing::warn!(%error, "cannot start the thread that loads the trusted setup of blobs");
    }
}
