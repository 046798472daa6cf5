//! Safe and finalized blocks, set by a caller.

use foreseal_chain::Finality;

use crate::{
    control::sequencer::Sequencer, errors::production_error::ControlError, settings::mining::Mining,
};

impl Sequencer {
    /// Sets the numbers of the safe and the finalized block; `None` leaves a number unchanged. From then on
    /// they no longer follow `latest`.
    ///
    /// # Errors
    /// Returns [`ControlError::Finality`] if a number decreases, or unless finalized <= safe <= latest.
    pub fn set_finality(&mut self, safe: Option<u64>, finalized: Option<u64>) -> Result<(), ControlError> {
        if self.producer.mining == Mining::Driver {
            return Err(ControlError::Refused(
                "the driver names the safe and the finalized block".to_owned(),
            ));
        }
        let now = self.producer.writer.chain.finality();
        let next = Finality {
            safe: safe.unwrap_or(now.safe),
            finalized: finalized.unwrap_or(now.finalized),
            trails: false,
        };
        let refused = |name, given, wrong| Err(ControlError::Finality { name, given, wrong });
        if next.safe < now.safe {
            return refused("safe", next.safe, "go back");
        }
        if next.finalized < now.finalized {
            return refused("finalized", next.finalized, "go back");
        }
        if next.safe > self.producer.writer.chain.latest().number() {
            return refused("safe", next.safe, "pass the latest block");
        }
        if next.finalized > next.safe {
            return refused("finalized", next.finalized, "pass the safe block");
        }
        let mut draft = self.producer.draft();
        draft.set_finality(next);
        Ok(self.producer.commit(draft, self.producer.slot)?)
    }
}
