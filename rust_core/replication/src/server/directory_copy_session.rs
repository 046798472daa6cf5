//! A connection that transfers a copy of the data directory.

use std::{
    io::{BufWriter, Write},
    os::unix::net::UnixStream,
    sync::atomic::{AtomicU32, Ordering},
};

use foreseal_journal::Identity;

use super::{
    DirectoryCopySource, FeedConfig, FeedSource,
    directory_copy_writer::{DirectoryCopyWriter, WRITE_TIMEOUT},
    disconnect_reason::{DisconnectReason, dismissing},
};
use crate::wire::{Ending, Response};

/// Size of the buffer in front of the socket, in bytes.
const BUFFER_SIZE: usize = 128 << 10;

/// Sends a copy of the data directory over a connection on which it was requested.
pub(super) fn serve_directory_copy(
    source: &FeedSource,
    identity: Option<Identity>,
    stream: &UnixStream,
) -> Result<(), DisconnectReason> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let out = DirectoryCopyWriter::new(stream, &source.config.log, source.config.pace.clock());
    let mut out = BufWriter::with_capacity(BUFFER_SIZE, out);
    let (copies, _permit) = dismissing(permit(source, identity), &mut out)?;
    out.write_all(&Response::DirectoryCopy(source.config.identity).encode())?;
    copies.send(&mut out).map_err(DisconnectReason::DirectoryCopy)?;
    Ok(out.flush()?)
}

/// Returns the source of copies with the permission to send one, or the reason why the receiver gets none.
fn permit(
    source: &FeedSource,
    identity: Option<Identity>,
) -> Result<(&dyn DirectoryCopySource, DirectoryCopyPermit<'_>), DisconnectReason> {
    let FeedConfig { identity: own, copies, max_copies: limit, .. } = &source.config;
    let refused = |reason: String| DisconnectReason::Dismissed(Ending::Refused(reason));
    let copies = copies
        .as_deref()
        .ok_or_else(|| refused("the sequencer sends no snapshots: restore a backup instead".to_owned()))?;
    if let Some(requested) = identity.filter(|requested| requested != own) {
        return Err(refused(format!("the sequencer has chain {own}, the receiver {requested}")));
    }
    let busy = || DisconnectReason::Dismissed(Ending::Busy { limit: *limit });
    let permit = DirectoryCopyPermit::acquire(&source.sending, *limit).ok_or_else(busy)?;
    Ok((copies, permit))
}

/// Permission to send a copy of the data directory, returned when dropped.
struct DirectoryCopyPermit<'a>(&'a AtomicU32);

impl<'a> DirectoryCopyPermit<'a> {
    fn acquire(sending: &'a AtomicU32, limit: u32) -> Option<Self> {
        let more = |count| (count < limit).then_some(count + 1);
        let acquired = sending.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        acquired.is_ok().then(|| Self(sending))
    }
}

impl Drop for DirectoryCopyPermit<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
