//! Copies between a network connection and the Unix stream of a session.

use std::{future::Future, pin::pin, time::Duration};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split},
    net::UnixStream,
    time::timeout,
};

use super::first_of::{FirstOf, first_of};
use crate::wire::MAX_COPY_SILENCE;

/// Size of the buffer of each direction, in bytes.
const BUFFER_SIZE: usize = 32 << 10;
/// Time for the other direction after one has ended: the last frames arrive, and the connection closes.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// Copies in both directions until one ends, and closes both streams.
pub(super) async fn bridge(network: impl AsyncRead + AsyncWrite, local: UnixStream) {
    let (mut network_in, network_out) = split(network);
    let (mut local_in, local_out) = local.into_split();
    let inward = async {
        pump(&mut network_in, local_out).await;
        discard(&mut network_in).await;
    };
    let (mut inward, mut outward) = (pin!(inward), pin!(pump(&mut local_in, network_out)));
    match first_of(inward.as_mut(), outward.as_mut()).await {
        FirstOf::Left(()) => finish(outward).await,
        FirstOf::Right(()) => finish(inward).await,
    }
}

/// Closes a connection after the last bytes were sent.
pub(super) async fn linger(mut network: impl AsyncRead + AsyncWrite + Unpin) {
    let farewell = async {
        if network.shutdown().await.is_ok() {
            discard(&mut network).await;
        }
    };
    finish(farewell).await;
}

async fn finish(other: impl Future<Output = ()>) {
    let _ = timeout(FAREWELL, other).await;
}

/// Reads to the end. A socket that is closed with unread bytes resets the connection, and the peer could lose
/// the last bytes that were sent to it.
async fn discard(input: &mut (impl AsyncRead + Unpin)) {
    let mut buffer = [0; 1 << 10];
    while let Ok(1..) = input.read(&mut buffer).await {}
}

/// Copies until the end of `input`, an error, or a write that does not succeed within [`MAX_COPY_SILENCE`]: the
/// receiver of a copy of the data directory may pause for that long, and the two ends have their own shorter timeouts
/// for everything else. Then closes `output`.
async fn pump(input: &mut (impl AsyncRead + Unpin), mut output: impl AsyncWrite + Unpin) {
    let mut buffer = vec![0; BUFFER_SIZE];
    while let Ok(count @ 1..) = input.read(&mut buffer).await {
        let write = async {
            output.write_all(&buffer[..count]).await?;
            output.flush().await
        };
        if !matches!(timeout(MAX_COPY_SILENCE, write).await, Ok(Ok(()))) {
            break;
        }
    }
    let _ = timeout(FAREWELL, output.shutdown()).await;
}
