//! A data directory without a node, and the frames of a streamed copy, encoded independently of the crate.

use std::{
    ops::ControlFlow,
    path::Path,
    sync::{Arc, OnceLock},
};

use foreseal_backup::{BackupSource, CopyRate, CopySummary, send_copy};
use foreseal_chain::{
    SteppedClock,
    datadir::{DataDir, DataDirError, genesis_hash},
};
use foreseal_journal::{Identity, JournalOptions, LocalJournal, RealDisk, Record};
use foreseal_store::{Store, StoreOptions};
use foreseal_testkit::{Wallet, test_genesis};

pub const START: u8 = 0;
pub const FILE: u8 = 1;
pub const CHUNK: u8 = 2;
pub const FILE_END: u8 = 3;
pub const MANIFEST: u8 = 4;
pub const END: u8 = 5;
pub const FAILED: u8 = 6;

const MAP_SIZE: usize = 1 << 30;

/// A data directory with a store without blocks and a journal of several segments.
pub struct Sender {
    folder: tempfile::TempDir,
    store: Store,
}

impl Sender {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let datadir = DataDir::lock(folder.path()).unwrap();
        let genesis = test_genesis(&Wallet::some(2));
        let spec = datadir.spec(Some(genesis), |_| Ok::<_, DataDirError>(())).unwrap();
        let identity = Identity { chain_id: spec.chain_id(), genesis: genesis_hash(&spec) };
        let options =
            StoreOptions { map_size: MAP_SIZE, ..StoreOptions::new(identity.chain_id, identity.genesis) };
        let store = Store::open(datadir.store(), options).unwrap();
        datadir.identity(identity.chain_id).unwrap().0.write(datadir.path()).unwrap();
        let options = JournalOptions { segment_bytes: 16 << 10, ..JournalOptions::new(identity, [7; 32]) };
        let (mut journal, _) = LocalJournal::open(&datadir.journal(), Arc::new(RealDisk), options).unwrap();
        for fill in 0..20_u8 {
            journal.append(&[Record::Import { block: vec![fill; 3_000].into() }]).unwrap();
        }
        journal.close().unwrap();
        Self { folder, store }
    }

    pub fn datadir(&self) -> &Path {
        self.folder.path()
    }

    pub fn source(&self, with_key: bool) -> BackupSource<'_> {
        BackupSource { datadir: self.datadir(), store: Some(&self.store), map_size: MAP_SIZE, with_key }
    }

    /// Returns a stream and its summary.
    pub fn stream(&self) -> (Vec<u8>, CopySummary) {
        send(&self.source(false))
    }
}

/// Returns a stream with a copy of a source and its summary.
pub fn send(source: &BackupSource<'_>) -> (Vec<u8>, CopySummary) {
    let (clock, mut stream) = (SteppedClock::default(), Vec::new());
    let rate = CopyRate::unlimited(&clock);
    let summary = send_copy(source, &mut stream, &rate, &mut |_| ControlFlow::Continue(())).unwrap();
    (stream, summary)
}

/// Returns the same stream at each call.
pub fn shared_stream() -> (Vec<u8>, CopySummary) {
    static SHARED: OnceLock<(Vec<u8>, CopySummary)> = OnceLock::new();
    SHARED.get_or_init(|| Sender::new().stream()).clone()
}

/// Returns the kinds and bodies of the frames of a stream.
pub fn frames(stream: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut rest = stream.strip_prefix(b"FSEALSN1").unwrap();
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let length = usize::try_from(u32::from_le_bytes(rest[..4].try_into().unwrap())).unwrap();
        frames.push((rest[4], rest[9..9 + length].to_vec()));
        rest = &rest[9 + length..];
    }
    frames
}

/// Encodes a frame.
pub fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let checksum = crc32c::crc32c(&[&[kind], body].concat());
    let length = u32::try_from(body.len()).unwrap();
    [length.to_le_bytes().as_slice(), &[kind], &checksum.to_le_bytes(), body].concat()
}

/// Encodes a stream.
pub fn join(frames: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let encoded: Vec<Vec<u8>> = frames.iter().map(|(kind, body)| frame(*kind, body)).collect();
    [b"FSEALSN1".as_slice(), &encoded.concat()].concat()
}
