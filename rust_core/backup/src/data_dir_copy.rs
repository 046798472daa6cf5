//! The copying of a data directory on which a node may run.

use std::{fs, io, time::Duration};

use foreseal_chain::datadir::{CopiedComponent, CopyCallback, CopyProgress, DirIdentity};
use foreseal_journal::{Identity, PinnedAppends, PinnedSegments, journal_folder};
use foreseal_primitives::ChainSpec;
use foreseal_store::{Progress, SCHEMA, StoreCopy};

use crate::{
    backup_source::BackupSource,
    copy_sink::{CopySink, CopyStart},
    error::BackupError,
    file_names::{GENESIS, IDENTITY, KEY, STORE_FILE},
    files::{ManifestFile, io_error},
    manifest::{Manifest, ManifestBlock, VERSION},
};

/// Number of copied bytes after which new journal segments are held open. A segment is larger, so none is
/// created and removed in between.
const PIN_INTERVAL: u64 = 1 << 20;

/// A copy of a data directory, to any destination.
pub(crate) struct DataDirCopy<'a> {
    pub source: &'a BackupSource<'a>,
    pub spec: &'a ChainSpec,
    pub with_key: bool,
    /// Time since the Unix epoch, which the manifest records.
    pub now: Duration,
}

impl DataDirCopy<'_> {
    /// Passes the files to `sink` and returns their manifest, which is not among them.
    pub fn run(&self, sink: &mut dyn CopySink, watch: CopyCallback<'_>) -> Result<Manifest, BackupError> {
        let Self { source, spec, .. } = self;
        let folder = journal_folder(source.datadir).map_err(|error| BackupError::NotABackup {
            path: source.datadir.to_owned(),
            why: error.to_string(),
        })?;
        let pinned = PinnedSegments::open(&folder)?;
        let options = source.options(spec);
        let identity = Identity { chain_id: options.chain_id, genesis: options.genesis };
        let copying = source.copying(&options)?;
        // A damaged journal ends the copy before the store is read.
        let journal = pinned.verify_appends(identity, copying.progress()?.journal_sequence)?;
        sink.start(CopyStart { identity, store: copying.bytes(), journal: journal_bytes(&journal) })?;
        let (store, progress) = copy_store(&copying, &pinned, sink, watch)?;
        drop(copying);
        let complete = pinned.refresh()?;
        let sequence = progress.journal_sequence;
        let extent = pinned.verify_appends(identity, sequence)?;
        if extent.first > sequence || (!complete && extent.next <= sequence) {
            return Err(BackupError::Outrun { sequence });
        }
        let mut files = vec![store];
        copy_journal(&pinned, &extent, &mut JournalTarget { sink, files: &mut files }, watch)?;
        self.copy_small_files(sink, &mut files)?;
        Ok(Manifest {
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            time: u64::try_from(self.now.as_millis()).unwrap_or(u64::MAX),
            chain_id: options.chain_id,
            genesis: options.genesis,
            schema: SCHEMA,
            head: progress.head.map(|head| ManifestBlock { number: head.number, hash: head.hash }),
            journal_sequence: sequence,
            journal_first: extent.first,
            journal_next: extent.next,
            files,
        })
    }

    fn copy_small_files(
        &self,
        sink: &mut dyn CopySink,
        files: &mut Vec<ManifestFile>,
    ) -> Result<(), BackupError> {
        let datadir = self.source.datadir;
        let mut names = vec![GENESIS];
        // An imported chain has no identity before the first start. It identifies the signer if the key is not copied.
        if DirIdentity::read(datadir)?.is_some() {
            names.push(IDENTITY);
        }
        if self.with_key {
            if !datadir.join(KEY).exists() {
                return Err(BackupError::NoKey(datadir.to_owned()));
            }
            names.push(KEY);
        }
        for name in names {
            let path = datadir.join(name);
            let content = fs::read(&path).map_err(io_error("read", &path))?;
            sink.create(name)?;
            sink.write(&content)?;
            files.push(sink.finish()?);
        }
        Ok(())
    }
}

fn journal_bytes(extent: &PinnedAppends) -> u64 {
    extent.segments.iter().map(|segment| segment.bytes).sum()
}

/// Passes chunks to a sink, and remembers the error that ends the copy: a copy passes on only I/O errors.
struct Chunks<'a> {
    sink: &'a mut dyn CopySink,
    watch: CopyCallback<'a>,
    part: CopiedComponent,
    done: u64,
    of: u64,
    failure: Option<BackupError>,
}

impl Chunks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Self { part, of, .. } = *self;
        let written = self.sink.write(bytes).and_then(|()| {
            self.done += bytes.len() as u64;
            let ended = (self.watch)(CopyProgress { part, done: self.done, of }).is_break();
            if ended { Err(BackupError::Interrupted) } else { Ok(()) }
        });
        written.map_err(|error| {
            self.failure = Some(error);
            io::Error::other("the copy was ended")
        })
    }

    /// Returns the result of a copy, or the error that ended it.
    fn end<T, E: Into<BackupError>>(&mut self, copied: Result<T, E>) -> Result<T, BackupError> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => copied.map_err(Into::into),
        }
    }
}

fn copy_store(
    copying: &StoreCopy,
    pinned: &PinnedSegments,
    sink: &mut dyn CopySink,
    watch: CopyCallback<'_>,
) -> Result<(ManifestFile, Progress), BackupError> {
    sink.create(STORE_FILE)?;
    let (part, of) = (CopiedComponent::Store, copying.bytes());
    let mut chunks = Chunks { sink, watch, part, done: 0, of, failure: None };
    let mut pinned_at = 0;
    let copied = copying.copy(&mut |bytes| {
        if chunks.done - pinned_at >= PIN_INTERVAL {
            pinned_at = chunks.done;
            if let Err(error) = pinned.refresh() {
                chunks.failure = Some(error.into());
                return Err(io::Error::other("the journal cannot be read"));
            }
        }
        chunks.write(bytes)
    });
    let progress = chunks.end(copied)?;
    Ok((sink.finish()?, progress))
}

/// Destination of journal segments.
struct JournalTarget<'a> {
    sink: &'a mut dyn CopySink,
    files: &'a mut Vec<ManifestFile>,
}

fn copy_journal(
    pinned: &PinnedSegments,
    extent: &PinnedAppends,
    target: &mut JournalTarget<'_>,
    watch: CopyCallback<'_>,
) -> Result<(), BackupError> {
    let (part, of) = (CopiedComponent::Journal, journal_bytes(extent));
    let mut done = 0;
    for segment in &extent.segments {
        target.sink.create(&format!("journal/{}", segment.name))?;
        let mut chunks = Chunks { sink: target.sink, watch, part, done, of, failure: None };
        let copied = pinned.copy(segment, &mut |bytes| chunks.write(bytes));
        chunks.end(copied)?;
        done = chunks.done;
        target.files.push(target.sink.finish()?);
    }
    Ok(())
}
