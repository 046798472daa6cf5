//! A running node's data directory as the source of snapshots.

use std::{io::Write, num::NonZeroU64, ops::ControlFlow, path::PathBuf, sync::Arc};

use foreseal_chain::Clock;
use foreseal_replication::SnapshotSource;
use foreseal_store::Store;

use crate::{backup_source::BackupSource, snapshot_rate::SnapshotRate, snapshot_sender::send_snapshot};

/// Sends snapshots of the data directory of a node that runs in this process.
pub struct DataDirSnapshots {
    pub datadir: PathBuf,
    /// The node's store.
    pub store: Store,
    /// Maximum rate of one snapshot in bytes per second; `None` is unlimited.
    pub limit: Option<NonZeroU64>,
    /// Clock of the machine.
    pub clock: Arc<dyn Clock>,
}

impl SnapshotSource for DataDirSnapshots {
    fn send(&self, out: &mut dyn Write) -> Result<(), String> {
        let map_size = self.store.options().map_size;
        let source =
            BackupSource { datadir: &self.datadir, store: Some(&self.store), map_size, with_key: false };
        let rate = SnapshotRate { limit: self.limit, ..SnapshotRate::unlimited(&*self.clock) };
        let sent = send_snapshot(&source, out, &rate, &mut |_| ControlFlow::Continue(()));
        let summary = sent.map_err(|error| error.to_string())?;
        let next = summary.manifest.journal_next;
        tracing::info!(bytes = summary.bytes, next, "sent a snapshot");
        Ok(())
    }
}
