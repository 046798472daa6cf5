//! The reception of a copy of a data directory.

use std::{io::Read, ops::ControlFlow, path::Path};

use foreseal_chain::datadir::{CopiedComponent, CopyCallback, CopyProgress};
use foreseal_journal::Identity;

use crate::{
    copy_frame::{FrameKind, FrameReader, invalid},
    copy_sender::StreamStart,
    draft::Draft,
    error::BackupError,
    file_names::{KEY, MANIFEST, is_copied, is_segment},
    files::ManifestFile,
    manifest::Manifest,
};

/// Maximum number of files of a copy.
const MAX_FILES: usize = 10_000;

/// Destination of a received copy.
#[derive(Clone, Copy, Debug)]
pub struct CopyTarget<'a> {
    /// Data directory, which must be new or empty.
    pub datadir: &'a Path,
    /// Maximum size of the store in bytes.
    pub map_size: usize,
    /// The chain; `None` accepts that of the sender.
    pub identity: Option<Identity>,
}

/// Receives a copy of a data directory into another one. Every file is verified, and then all of them as
/// [`restore`](crate::restore()) does. The sum of the sizes in `watch` is an estimate of the sender.
///
/// All files are prepared in a separate folder that no node reads. A reception that was interrupted starts from
/// the beginning.
pub fn receive_copy(
    input: &mut dyn Read,
    target: &CopyTarget<'_>,
    watch: CopyCallback<'_>,
) -> Result<Manifest, BackupError> {
    receive(input, target, watch).map_err(|error| match error {
        BackupError::Damaged { file, why } => BackupError::DamagedCopy { file, why },
        other => other,
    })
}

fn receive(
    input: &mut dyn Read,
    target: &CopyTarget<'_>,
    watch: CopyCallback<'_>,
) -> Result<Manifest, BackupError> {
    let draft = Draft::create(target.datadir)?;
    let mut frames = FrameReader::begin(input)?;
    let start = read_start(&mut frames, target.identity)?;
    let progress = ReceiveProgress { watch, store: (0, start.store), journal: (0, start.journal) };
    let mut receiver = Receiver { frames, draft: &draft, progress, files: Vec::new() };
    let manifest = receiver.run()?;
    let (listed, expected) = (
        (manifest.chain_id, manifest.genesis, &manifest.files),
        (start.chain_id, start.genesis, &receiver.files),
    );
    manifest.check_files()?;
    if listed != expected {
        let why = "it does not match the received files".to_owned();
        return Err(BackupError::Damaged { file: MANIFEST.to_owned(), why });
    }
    draft.commit(&manifest, target.map_size)?;
    Ok(manifest)
}

fn read_start(frames: &mut FrameReader<'_>, expected: Option<Identity>) -> Result<StreamStart, BackupError> {
    let start: StreamStart = match frames.next()? {
        (FrameKind::Start, body) => parse(body)?,
        (kind, body) => return Err(unexpected(kind, body)),
    };
    let identity = Identity { chain_id: start.chain_id, genesis: start.genesis };
    match expected {
        Some(expected) if expected != identity => Err(BackupError::OtherChain { identity, expected }),
        _ => Ok(start),
    }
}

fn parse<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, BackupError> {
    serde_json::from_slice(body).map_err(|error| invalid(format!("a frame does not decode: {error}")))
}

/// Returns the error for a frame that is not valid at its position.
fn unexpected(kind: FrameKind, body: &[u8]) -> BackupError {
    match kind {
        FrameKind::Failed => BackupError::SenderFailed(String::from_utf8_lossy(body).into_owned()),
        kind => invalid(format!("a frame {kind:?} is not valid at this position")),
    }
}

/// Bytes so far and announced bytes of both components.
struct ReceiveProgress<'a> {
    watch: CopyCallback<'a>,
    store: (u64, u64),
    journal: (u64, u64),
}

impl ReceiveProgress<'_> {
    fn add(&mut self, part: CopiedComponent, bytes: usize) -> Result<(), BackupError> {
        let (done, of) = match part {
            CopiedComponent::Store => &mut self.store,
            CopiedComponent::Journal => &mut self.journal,
        };
        *done += bytes as u64;
        // The sender's sizes are estimates.
        match (self.watch)(CopyProgress { part, done: *done, of: (*of).max(*done) }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(BackupError::Interrupted),
        }
    }
}

struct Receiver<'a> {
    frames: FrameReader<'a>,
    draft: &'a Draft<'a>,
    progress: ReceiveProgress<'a>,
    files: Vec<ManifestFile>,
}

impl Receiver<'_> {
    /// Receives all files; returns their manifest as the sender states it.
    fn run(&mut self) -> Result<Manifest, BackupError> {
        loop {
            match self.frames.next()? {
                (FrameKind::File, path) => {
                    let path = String::from_utf8_lossy(path).into_owned();
                    self.check_path(&path)?;
                    let file = self.receive_file(path)?;
                    self.files.push(file);
                }
                (FrameKind::Manifest, text) => {
                    let refused = |why| BackupError::Damaged { file: MANIFEST.to_owned(), why };
                    let manifest = Manifest::decode(text.to_vec(), refused)?;
                    return match self.frames.next()? {
                        (FrameKind::End, _) => Ok(manifest),
                        (kind, body) => Err(unexpected(kind, body)),
                    };
                }
                (kind, body) => return Err(unexpected(kind, body)),
            }
        }
    }

    /// Rejects the path of a file that a copy may not contain, or contains already.
    fn check_path(&self, path: &str) -> Result<(), BackupError> {
        let why = if !is_copied(path) || path == KEY {
            "unexpected file"
        } else if self.files.iter().any(|file| file.path == path) {
            "it occurs twice"
        } else if self.files.len() >= MAX_FILES {
            "too many files"
        } else {
            return Ok(());
        };
        Err(BackupError::Damaged { file: path.to_owned(), why: why.to_owned() })
    }

    fn receive_file(&mut self, path: String) -> Result<ManifestFile, BackupError> {
        let mut file = self.draft.create_file(&path)?;
        let part = if is_segment(&path) { CopiedComponent::Journal } else { CopiedComponent::Store };
        let stated: ManifestFile = loop {
            match self.frames.next()? {
                (FrameKind::Chunk, bytes) if !bytes.is_empty() => {
                    file.write(bytes)?;
                    let length = bytes.len();
                    self.progress.add(part, length)?;
                }
                (FrameKind::FileEnd, body) => break parse(body)?,
                (kind, body) => return Err(unexpected(kind, body)),
            }
        };
        let received = file.finish()?;
        if received != stated {
            let why = "its size or hash differs from those sent".to_owned();
            return Err(BackupError::Damaged { file: path, why });
        }
        Ok(received)
    }
}
