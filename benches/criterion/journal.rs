//! One append of 50 KB, written and synced, and as its peer a bare write and sync of the same bytes; and
//! replay of a journal.

use std::{
    hint::black_box,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use alloy_primitives::B256;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use foreseal_journal::{Disk, DiskFile, Identity, JournalOptions, LocalJournal, RealDisk, Record};

/// Bytes of a step of about a hundred token transfers.
const APPEND: usize = 50_000;
/// Appends before a bench starts over in a new folder: slightly less than a segment.
const APPENDS: usize = 1_000;

fn open(dir: &Path) -> LocalJournal {
    let identity = Identity { chain_id: 1, genesis: B256::ZERO };
    let opened = LocalJournal::open(dir, Arc::new(RealDisk), JournalOptions::new(identity, [7; 32]));
    opened.expect("a new journal").0
}

fn record() -> Record {
    let block: Vec<u8> = (0..APPEND).map(|i| i.to_le_bytes()[0] ^ i.to_le_bytes()[1]).collect();
    Record::Import { block: block.into() }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the disk that is measured")
}

/// Preallocated files like segments, filled one after the other.
struct Bare {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    bytes: Vec<u8>,
    offset: u64,
}

impl Bare {
    fn new(folder: &Path) -> Self {
        let path = folder.join("bare");
        let file = RealDisk.create(&path, JournalOptions::SEGMENT_BYTES).expect("created");
        Self { path, file, bytes: vec![3; APPEND.next_multiple_of(512)], offset: 0 }
    }

    fn write(&mut self) -> io::Result<()> {
        if self.offset + self.bytes.len() as u64 > JournalOptions::SEGMENT_BYTES {
            RealDisk.remove(&self.path)?;
            self.file = RealDisk.create(&self.path, JournalOptions::SEGMENT_BYTES)?;
            self.file.sync()?;
            self.offset = 0;
        }
        self.file.write_at(&self.bytes, self.offset)?;
        self.offset += self.bytes.len() as u64;
        self.file.sync()
    }
}

fn append(c: &mut Criterion) {
    let mut group = c.benchmark_group("journal");
    let records = [record()];
    let folder = folder();
    let mut journal = open(folder.path());
    group.bench_function("append 50 KB and sync", |b| {
        b.iter(|| {
            let sequence = journal.append(&records).expect("the disk has room");
            if sequence.is_multiple_of(8 * APPENDS as u64) {
                journal.remove_segments_before(sequence).expect("removed");
            }
        });
    });
    let mut bare = Bare::new(folder.path());
    group.bench_function("bare write of 50 KB and sync", |b| {
        b.iter(|| bare.write().expect("the disk has room"));
    });
    group.finish();
}

fn replay(c: &mut Criterion) {
    let folder = folder();
    let mut journal = open(folder.path());
    let records = [record()];
    for _ in 0..APPENDS {
        journal.append(&records).expect("the disk has room");
    }
    drop(journal);
    let mut group = c.benchmark_group("journal");
    group.sample_size(20).throughput(Throughput::Bytes((APPEND * APPENDS) as u64));
    group.bench_function("open 50 MB", |b| b.iter(|| open(folder.path()).next_sequence()));
    let journal = open(folder.path());
    group.bench_function("replay 50 MB", |b| {
        b.iter_batched(
            || journal.replay().expect("opened"),
            |replay| replay.for_each(|append| drop(black_box(append.expect("whole")))),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, append, replay);
criterion_main!(benches);
