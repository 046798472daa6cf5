//! What a step is given beside its content.

use std::sync::Arc;

use foreseal_types::{Flashblock, Promise};

use crate::{Now, StepSigner};

/// When steps are made and who signs them. Neither header nor hash knows of it, so the same steps can be made at another time.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    /// Unix time in milliseconds, by the wall clock: not by the clock of a development chain, which is set at will.
    time: u64,
    /// `None` on a chain whose steps nobody signs.
    signer: Option<Arc<StepSigner>>,
}

impl Stamp {
    /// For steps that are made now.
    pub fn at(now: Now, signer: Option<Arc<StepSigner>>) -> Self {
        Self { time: u64::try_from(now.unix.as_millis()).unwrap_or(u64::MAX), signer }
    }

    /// Makes a step complete. It is signed before it is appended, so the signature is as durable as the step.
    pub fn put(&self, step: Flashblock) -> Arc<Flashblock> {
        let mut step = Flashblock { time: self.time, ..step };
        step.signature = self.signer.as_ref().map(|signer| signer.sign(&Promise::from(&step)));
        Arc::new(step)
    }
}
