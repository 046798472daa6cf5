//! A running node's data directory as the source of copies for other machines.

use std::{io::Write, num::NonZeroU64, ops::ControlFlow, path::PathBuf, sync::Arc};

use foreseal_chain::Clock;
use foreseal_replication::DirectoryCopySource;
use foreseal_store::Store;

use crate::{backup_source::BackupSource, copy_rate::CopyRate, copy_sender::send_copy};

/// Sends copies of the data directory of a node that runs in this process.
pub struct DataDirCopySource {
    pub datadir: PathBuf,
    /// The node's store.
    pub store: Store,
    /// Maximum rate of one copy in bytes per second; `None` is unlimited.
    pub limit: Option<NonZeroU64>,
    /// Clock of the machine.
    pub clock: Arc<dyn Clock>,
}

impl DirectoryCopySource for DataDirCopySource {
    fn send(&self, out: &mut dyn Write) -> Result<(), String> {
        let map_size = self.store.options().map_size;
        let source =
            BackupSource { datadir: &self.datadir, store: Some(&self.store), map_size, with_key: false };
        let rate = CopyRate { limit: self.limit, ..CopyRate::unlimited(&*self.clock) };
        let sent = send_copy(&source, out, &rate, &mut |_| ControlFlow::Continue(()));
        let summary = sent.map_err(|error| error.to_string())?;
        let next = summary.manifest.journal_next;
        tracing::info!(bytes = summary.bytes, next, "sent a snapshot");
        Ok(())
    }
}
