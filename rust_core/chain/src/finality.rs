//! The safe and the finalized block.

use serde::{Deserialize, Serialize};

/// Distance of `safe` and `finalized` from `latest`, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct FinalityDepth {
    pub safe: u64,
    pub finalized: u64,
}

impl Default for FinalityDepth {
    fn default() -> Self {
        Self { safe: 32, finalized: 64 }
    }
}

/// Numbers of the safe and of the finalized block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finality {
    pub safe: u64,
    pub finalized: u64,
    /// `true` while they follow `latest` by their depth. Setting them explicitly ends that for good.
    pub trails: bool,
}

impl Default for Finality {
    /// Returns the finality of a chain at genesis.
    fn default() -> Self {
        Self { safe: 0, finalized: 0, trails: true }
    }
}

impl Finality {
    /// Advances both after block `latest` was sealed.
    pub(crate) fn follow(&mut self, latest: u64, depth: FinalityDepth) {
        if self.trails {
            self.safe = self.safe.max(latest.saturating_sub(depth.safe));
            self.finalized = self.finalized.max(latest.saturating_sub(depth.finalized));
        }
    }

    /// Lowers both after an unwind to block `latest`, which neither may exceed.
    pub fn unwound(&mut self, latest: u64) {
        self.safe = self.safe.min(latest);
        self.finalized = self.finalized.min(latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finality_follows_its_depth_until_it_is_set() {
        let depth = FinalityDepth { safe: 2, finalized: 5 };
        let mut finality = Finality::default();
        let mut after = |latest| {
            finality.follow(latest, depth);
            (finality.safe, finality.finalized)
        };
        assert_eq!([1, 2, 3, 6].map(&mut after), [(0, 0), (0, 0), (1, 0), (4, 1)]);
        finality.trails = false;
        finality.follow(100, depth);
        assert_eq!((finality.safe, finality.finalized), (4, 1));
    }

    #[test]
    fn finality_never_passes_the_head_after_an_unwind() {
        let mut finality = Finality { safe: 8, finalized: 3, trails: true };
        finality.unwound(5);
        assert_eq!((finality.safe, finality.finalized), (5, 3));
        finality.follow(6, FinalityDepth { safe: 4, finalized: 4 });
        assert_eq!((finality.safe, finality.finalized), (5, 3), "what was reached is not given up");
    }
}
