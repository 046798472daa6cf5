//! Time and signature of a step.

use std::sync::Arc;

use foreseal_chain::ClockReading;
use foreseal_primitives::{Flashblock, FlashblockCommitment};

use crate::produce::step_signer::StepSigner;

/// Time and signer for new steps. Neither affects header or hash, so the same steps can be made again at
/// another time.
#[derive(Clone, Debug)]
pub(crate) struct StepStamp {
    /// Unix time in milliseconds on the wall clock, not on the adjustable clock of a development chain.
    time: u64,
    /// Signer of the steps; `None` if they are unsigned.
    signer: Option<Arc<StepSigner>>,
}

impl StepStamp {
    /// Creates the stamp for steps that are made now.
    pub fn at(now: ClockReading, signer: Option<Arc<StepSigner>>) -> Self {
        Self { time: u64::try_from(now.unix.as_millis()).unwrap_or(u64::MAX), signer }
    }

    /// Creates the stamp of a draft that makes no step of its own.
    pub fn unsigned() -> Self {
        Self { time: 0, signer: None }
    }

    /// Sets time and signature of a step. It is signed before it is appended, so the signature is as durable
    /// as the step.
    pub fn stamp_and_sign(&self, step: Flashblock) -> Arc<Flashblock> {
        let mut step = Flashblock { time: self.time, ..step };
        step.signature = self.signer.as_ref().map(|signer| signer.sign(&FlashblockCommitment::from(&step)));
        Arc::new(step)
    }
}
