//! What a step is given beside its content.

use std::sync::Arc;

use foreseal_types::Flashblock;

use crate::Now;

/// When steps are made. Neither header nor hash knows of it, so the same steps can be made at another time.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    /// Unix time in milliseconds, by the wall clock: not by the clock of a development chain, which is set at will.
    time: u64,
}

impl Stamp {
    /// For steps that are made now.
    pub fn at(now: Now) -> Self {
        Self { time: u64::try_from(now.unix.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Makes a step complete.
    pub fn put(&self, step: Flashblock) -> Arc<Flashblock> {
        Arc::new(Flashblock { time: self.time, ..step })
    }
}
