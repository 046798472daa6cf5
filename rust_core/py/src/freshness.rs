//! Freshness of the view of a response.

use std::sync::Arc;

use foreseal_chain::View;
use foreseal_node::Node;

/// Freshness of a view: its block and step, ms since the last tick, and the number of the ownership (0 without a
/// quorum journal).
#[derive(Clone, Copy)]
pub struct Freshness {
    pub block: u64,
    pub step: u64,
    pub age: u64,
    pub epoch: u64,
}

impl Freshness {
    /// Returns the freshness of the newest view, and the view. The age is read before the view, so that it
    /// never claims to be newer than it is.
    pub fn read(node: &Node) -> (Self, Option<Arc<View>>) {
        let age = u64::try_from(node.age().as_millis()).unwrap_or(u64::MAX);
        let view = node.view();
        // After the view, whose steps no later owner has written.
        let epoch = node.owner_epoch();
        let (block, step) =
            view.as_ref().map_or((0, 0), |view| (view.pending().number(), view.pending_index()));
        (Self { block, step, age, epoch }, view)
    }

    /// Returns its numbers, in their order.
    pub fn numbers(self) -> (u64, u64, u64, u64) {
        (self.block, self.step, self.age, self.epoch)
    }

    /// Returns the last lines of an HTTP head: the freshness, and the length of a body of `length` bytes.
    pub fn lines(self, length: usize) -> String {
        let Self { block, step, age, epoch } = self;
        let owner = if epoch == 0 { String::new() } else { format!("; epoch={epoch}") };
        format!("x-foreseal-view: {block}.{step}; age={age}{owner}\r\ncontent-length: {length}\r\n\r\n")
    }
}
