//! The sending of a copy of a data directory over a byte stream.

use std::io::Write;

use alloy_primitives::B256;
use foreseal_chain::datadir::CopyCallback;
use serde::{Deserialize, Serialize};

use crate::{
    backup_source::BackupSource,
    copy_frame::{FrameKind, MAGIC, stream_error, write_frame},
    copy_rate::{ByteBucket, CopyRate},
    copy_sink::{CopySink, CopyStart},
    data_dir_copy::DataDirCopy,
    error::BackupError,
    files::{ContentHash, ManifestFile},
    manifest::Manifest,
};

/// A copy that was sent.
#[derive(Clone, Debug)]
pub struct CopySummary {
    pub manifest: Manifest,
    /// Number of bytes of files.
    pub bytes: u64,
}

/// First frame of the stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StreamStart {
    /// Version of the program that sends it.
    pub program: String,
    pub chain_id: u64,
    pub genesis: B256,
    /// Maximum size of the store in bytes, and approximate size of the journal; both for progress only.
    pub store: u64,
    pub journal: u64,
}

/// Sends a copy of a data directory to `out`. A node may run on it meanwhile: its lock is not taken. The copy
/// contains every step that was durable when the call began, and never the key that signs steps.
///
/// Nothing is written to disk. While the store is sent, its free pages are not reused, and journal segments that
/// the node removes use disk space until the end.
///
/// # Errors
/// The receiver gets the reason, unless the stream itself failed.
pub fn send_copy(
    source: &BackupSource<'_>,
    out: &mut dyn Write,
    rate: &CopyRate<'_>,
    watch: CopyCallback<'_>,
) -> Result<CopySummary, BackupError> {
    let mut sink = StreamSink { out, bucket: ByteBucket::new(rate), bytes: 0, file: None };
    let sent = send(source, &mut sink, rate, watch);
    match &sent {
        Ok(_) | Err(BackupError::Stream { .. }) => {}
        Err(error) => {
            // The copy has failed anyway; without the reason the receiver sees the connection end.
            let _ = sink.frame(FrameKind::Failed, error.to_string().as_bytes()).and_then(|()| sink.flush());
        }
    }
    sent
}

fn send(
    source: &BackupSource<'_>,
    sink: &mut StreamSink<'_>,
    rate: &CopyRate<'_>,
    watch: CopyCallback<'_>,
) -> Result<CopySummary, BackupError> {
    sink.out.write_all(MAGIC).map_err(|error| stream_error(&error))?;
    let spec = source.spec()?;
    let copy = DataDirCopy { source, spec: &spec, with_key: false, now: rate.clock.now().unix };
    let manifest = copy.run(sink, watch)?;
    sink.frame(FrameKind::Manifest, &manifest.encode()?)?;
    sink.frame(FrameKind::End, &[])?;
    sink.flush()?;
    Ok(CopySummary { manifest, bytes: sink.bytes })
}

/// File that is being sent.
struct SentFile {
    path: String,
    content: ContentHash,
}

/// A stream as the destination of a copy.
struct StreamSink<'a> {
    out: &'a mut dyn Write,
    bucket: ByteBucket<'a>,
    bytes: u64,
    file: Option<SentFile>,
}

impl StreamSink<'_> {
    fn frame(&mut self, kind: FrameKind, body: &[u8]) -> Result<(), BackupError> {
        write_frame(self.out, kind, body).map_err(|error| stream_error(&error))
    }

    fn json(&mut self, kind: FrameKind, body: &impl Serialize) -> Result<(), BackupError> {
        let body = serde_json::to_vec(body).map_err(|error| stream_error(&error.into()))?;
        self.frame(kind, &body)
    }

    fn flush(&mut self) -> Result<(), BackupError> {
        self.out.flush().map_err(|error| stream_error(&error))
    }
}

impl CopySink for StreamSink<'_> {
    fn start(&mut self, start: CopyStart) -> Result<(), BackupError> {
        let CopyStart { identity, store, journal } = start;
        let program = env!("CARGO_PKG_VERSION").to_owned();
        let (chain_id, genesis) = (identity.chain_id, identity.genesis);
        self.json(FrameKind::Start, &StreamStart { program, chain_id, genesis, store, journal })
    }

    fn create(&mut self, path: &str) -> Result<(), BackupError> {
        self.file = Some(SentFile { path: path.to_owned(), content: ContentHash::default() });
        self.frame(FrameKind::File, path.as_bytes())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.file.as_mut().expect("a file was created before").content.update(bytes);
        for chunk in bytes.chunks(self.bucket.chunk_size()) {
            self.bucket.pay(chunk.len());
            self.frame(FrameKind::Chunk, chunk)?;
            self.bytes += chunk.len() as u64;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ManifestFile, BackupError> {
        let SentFile { path, content } = self.file.take().expect("a file was created before");
        let file = content.finish(path);
        self.json(FrameKind::FileEnd, &file)?;
        Ok(file)
    }
}
