//! Mining of many blocks as a long command.

use crate::{
    development::mine::MiningOrder,
    errors::production_error::ControlError,
    process::node::{Node, NodeRole},
};

impl Node {
    /// Mines blocks like [`DevelopmentControl::mine`], as a long command: readers, ticks and a stop of the node do not
    /// wait for the last block. `keep_going` returns `false` once the blocks are no longer needed.
    ///
    /// # Errors
    /// Returns the errors of [`DevelopmentControl::mine`], and [`ControlError::Interrupted`]. Blocks that are mined
    /// stay.
    ///
    /// [`DevelopmentControl::mine`]: crate::DevelopmentControl::mine
    pub fn mine(&self, order: MiningOrder, keep_going: &mut dyn FnMut() -> bool) -> Result<(), ControlError> {
        let NodeRole::Writer(writing) = &self.part else { return Err(ControlError::Follower) };
        let (mut has_begun, mut left) = (false, order.blocks);
        writing.control.run_slices(&self.shared, keep_going, &mut |sequencer| {
            if !has_begun {
                sequencer.development().begin_mining(order)?;
                has_begun = true;
            }
            if left > 0 {
                left -= sequencer.development().mine_next(left, order.interval)?;
            }
            Ok(left == 0)
        })
    }

    /// Ends the long command that runs, and rejects others from now on: the node is about to stop.
    pub fn end_commands(&self) {
        self.shared.commands.end();
    }
}
