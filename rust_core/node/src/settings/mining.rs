//! Policies that decide when a block is sealed.

/// Trigger that seals a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mining {
    /// The end of a slot of this many seconds, at least 1.
    Interval { seconds: u64 },
    /// Every step with content.
    Automatic,
    /// An explicit request.
    Manual,
    /// A consensus client, which also opens each block: see [`Settings::driver`](crate::Settings::driver).
    Driver,
}

impl Mining {
    /// Returns `true` if blocks are sealed by time.
    pub(crate) fn is_timed(self) -> bool {
        matches!(self, Self::Interval { .. })
    }

    /// Returns the minimum difference between the timestamps of two blocks, in seconds. A timestamp set
    /// explicitly overrides it.
    pub(crate) fn block_time(self) -> u64 {
        match self {
            Self::Interval { seconds } => seconds,
            Self::Automatic | Self::Manual | Self::Driver => 1,
        }
    }
}
