//! When blocks are sealed.

/// What ends a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mining {
    /// The end of a slot of so many seconds, at least 1.
    Interval { seconds: u64 },
    /// Every step that holds something.
    Automatic,
    /// Somebody who asks for it.
    Manual,
}

impl Mining {
    /// Whether time ends a block.
    pub(crate) fn is_timed(self) -> bool {
        matches!(self, Self::Interval { .. })
    }

    /// Seconds that the timestamps of two blocks differ by at least, unless one is set.
    pub(crate) fn block_time(self) -> u64 {
        match self {
            Self::Interval { seconds } => seconds,
            Self::Automatic | Self::Manual => 1,
        }
    }
}
