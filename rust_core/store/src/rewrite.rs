//! Upgrade to schema 3, in which every page has a checksum: rewriting
//! an entry writes its pages with checksums.

use heed::RwTxn;

use crate::{
    StoreError,
    table::{Table, Tables},
};

/// Limits of one transaction, in entries and in bytes.
const ENTRIES: usize = 16_384;
const BYTES: usize = 8 << 20;
/// Size of a value that no contiguous free pages can hold: LMDB reads the whole
/// free list for it, and writes the list again.
const LARGE: usize = 1 << 20;
const LARGE_KEY: &[u8] = b"large";

/// Result of a piece of a step.
pub(crate) enum RewriteProgress {
    /// `done` of `of` is complete; the next piece starts at `position`.
    More {
        position: Vec<u8>,
        done: u64,
        of: u64,
    },
    Done,
}

/// Position of the step: a table, the number of entries done, and a key in the table.
#[derive(Default)]
struct RewritePosition {
    table: u8,
    done: u64,
    from: Vec<u8>,
}

impl RewritePosition {
    fn decode(bytes: &[u8]) -> Option<Self> {
        let (table, rest) = bytes.split_first()?;
        let (done, from) = rest.split_first_chunk()?;
        Some(Self { table: *table, done: u64::from_be_bytes(*done), from: from.to_vec() })
    }

    fn encode(&self) -> Vec<u8> {
        [&[self.table][..], &self.done.to_be_bytes(), &self.from].concat()
    }
}

/// Rewrites some entries; after the last ones, rewrites the list of free pages.
pub(crate) fn rewrite(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    position: &[u8],
) -> Result<RewriteProgress, StoreError> {
    let damaged = || tables.meta.damaged(b"upgrade", "it is too short");
    let position = if position.is_empty() {
        RewritePosition::default()
    } else {
        RewritePosition::decode(position).ok_or_else(damaged)?
    };
    let all = tables.all();
    let Some(table) = all.get(usize::from(position.table)) else {
        tables.meta.put(txn, LARGE_KEY, &vec![0; LARGE])?;
        tables.meta.delete(txn, LARGE_KEY)?;
        return Ok(RewriteProgress::Done);
    };
    let mut of = 0;
    for table in &all {
        of += table.stat(txn)?.entries as u64;
    }
    let (entries, next) = some_entries(table, txn, &position.from)?;
    for (key, value) in &entries {
        table.put(txn, key, value)?;
    }
    let done = position.done + entries.len() as u64;
    let position = match next {
        Some(from) => RewritePosition { table: position.table, done, from },
        None => RewritePosition { table: position.table + 1, done, from: Vec::new() },
    };
    Ok(RewriteProgress::More { position: position.encode(), done, of: of.max(done) })
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns entries from a key on, and the key of the entry after them.
fn some_entries(
    table: &Table,
    txn: &RwTxn<'_>,
    from: &[u8],
) -> Result<(Entries, Option<Vec<u8>>), StoreError> {
    let (mut entries, mut bytes) = (Entries::new(), 0);
    for entry in table.from(txn, from)? {
        let (key, value) = entry?;
        if entries.len() == ENTRIES || bytes >= BYTES {
            return Ok((entries, Some(key.to_vec())));
        }
        bytes += key.len() + value.len();
        entries.push((key.to_vec(), value.to_vec()));
    }
    Ok((entries, None))
}
