//! Origin of a connection to the feed.

/// Origin of a connection to the feed, which decides what its follower is trusted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionOrigin {
    /// The Unix socket, which only the user of the node can open: a worker of this node.
    Local,
    /// Another machine. Its submissions are checked like those of a client. It reports no damage of this node's
    /// store, queries no filters, and its cursor does not stop production.
    Network,
}
