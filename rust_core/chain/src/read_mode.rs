//! How a request's names of blocks resolve in a view: one mode for each endpoint of a node.

/// Mode in which a request reads a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize, serde::Serialize)]
pub enum ReadMode {
    /// `latest` is the newest sealed block. Transactions, receipts and hashes of steps resolve as well.
    #[default]
    Standard,
    /// The view of a chain without steps: transactions of the block being built are still pooled, and no hash names a
    /// step. The tag `pending` works as in the other modes.
    Sealed,
    /// `latest` is the newest step, and the number of the block being built names that block. The block number of the
    /// chain is still that of the newest sealed block.
    Preconfirmed,
}

impl ReadMode {
    /// Returns the mode with this name: `standard`, `sealed` or `preconfirmed`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "standard" => Self::Standard,
            "sealed" => Self::Sealed,
            "preconfirmed" => Self::Preconfirmed,
            _ => return None,
        })
    }
}
