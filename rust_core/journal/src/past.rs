//! What a journal held when it was opened.

use std::{fmt, path::PathBuf, sync::Arc};

use crate::{Disk, Identity, JournalError, Replay, walk::Walk};

/// Reads what was in a journal at its opening, however long ago that is by now. Segments may have been removed since.
#[derive(Clone)]
pub struct Past {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) identity: Identity,
    /// Sequence number after the last append of then.
    pub(crate) end: u64,
}

impl Past {
    /// The appends in order, from the oldest that is kept. Independent of the journal: appends may go on meanwhile.
    ///
    /// # Errors
    /// [`JournalError::Io`], here and while reading, when a segment is removed meanwhile.
    pub fn replay(&self) -> Result<Replay, JournalError> {
        let walk = Walk::new(self.disk.clone(), &self.dir, Some(self.identity))?;
        Ok(Replay::new(walk, 0..self.end))
    }
}

impl fmt::Debug for Past {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Past").field("dir", &self.dir).field("end", &self.end).finish_non_exhaustive()
    }
}
