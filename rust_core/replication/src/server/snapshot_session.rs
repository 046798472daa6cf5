//! A connection that transfers a snapshot.

use std::{
    io::{self, BufWriter, Write},
    os::unix::net::UnixStream,
    sync::atomic::{AtomicU32, Ordering},
};

use foreseal_journal::Identity;

use super::{
    FeedSource,
    snapshot_writer::{SnapshotWriter, WRITE_TIMEOUT},
};
use crate::wire::{Ending, Response};

/// Size of the buffer in front of the socket, in bytes.
const BUFFER_SIZE: usize = 128 << 10;

/// Reason for which a snapshot was not sent completely.
#[derive(Debug, thiserror::Error)]
pub(super) enum SnapshotFailure {
    #[error("sending a snapshot failed: {0}")]
    Io(#[from] io::Error),
    #[error("no snapshot was sent: {0}")]
    Dismissed(Ending),
    #[error("sending a snapshot failed: {0}")]
    Source(String),
}

/// Sends a snapshot over a connection on which it was requested.
pub(super) fn serve_snapshot(
    source: &FeedSource,
    identity: Option<Identity>,
    stream: &UnixStream,
) -> Result<(), SnapshotFailure> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let out = SnapshotWriter::new(stream, &source.config.log, source.config.pace.clock());
    send_snapshot(source, identity, &mut BufWriter::with_capacity(BUFFER_SIZE, out))
}

fn send_snapshot(
    source: &FeedSource,
    identity: Option<Identity>,
    out: &mut dyn Write,
) -> Result<(), SnapshotFailure> {
    let own = source.config.identity;
    let refused = |reason: String| Ending::Refused(reason);
    let sending = match (&source.config.snapshots, identity) {
        (None, _) => Err(refused("the sequencer sends no snapshots: restore a backup instead".to_owned())),
        (_, Some(found)) if found != own => {
            Err(refused(format!("the sequencer has chain {own}, the receiver {found}")))
        }
        (Some(snapshots), _) => SnapshotPermit::acquire(&source.sending, source.config.max_snapshots)
            .map(|permit| (snapshots, permit))
            .ok_or(Ending::Busy { limit: source.config.max_snapshots }),
    };
    let (snapshots, _permit) = match sending {
        Ok(sending) => sending,
        Err(ending) => {
            out.write_all(&Response::End(ending.clone()).encode())?;
            out.flush()?;
            return Err(SnapshotFailure::Dismissed(ending));
        }
    };
    out.write_all(&Response::Snapshot(own).encode())?;
    snapshots.send(out).map_err(SnapshotFailure::Source)?;
    Ok(out.flush()?)
}

/// Permission to send a snapshot, returned when dropped.
struct SnapshotPermit<'a>(&'a AtomicU32);

impl<'a> SnapshotPermit<'a> {
    fn acquire(sending: &'a AtomicU32, limit: u32) -> Option<Self> {
        let more = |count| (count < limit).then_some(count + 1);
        let acquired = sending.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        acquired.is_ok().then(|| Self(sending))
    }
}

impl Drop for SnapshotPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
