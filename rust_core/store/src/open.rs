//! Opening a store: creates it if absent. Rejects a store that does
//! not match the request, without changing it.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::Path,
};

use heed::{CommitOrAbort, Env, EnvFlags, EnvOpenOptions, MdbError, WithoutTls, types::Bytes};

use crate::{
    error::StoreError,
    free_pages, meta,
    options::StoreOptions,
    table::{Table, Tables},
};

pub(crate) const DATA_FILE: &str = "data.mdb";
/// Number of tables that LMDB reserves room for. Each transaction clears the room of all
/// of them, so it is no larger than needed.
const MAX_TABLES: u32 = 20;

/// Opens the files in the folder `path`, which is created if absent.
pub(crate) fn open(path: &Path, options: &StoreOptions) -> Result<(Env<WithoutTls>, Tables), StoreError> {
    let env = open_files(path, options)?;
    init_metadata(path, &env, options)?;
    let tables = open_tables(&env)?;
    if !options.read_only {
        env.clear_stale_readers()?;
    }
    Ok((env, tables))
}

/// Same as [`open`], only for copying: of the tables, it opens `meta` alone.
pub(crate) fn open_to_copy(
    path: &Path,
    options: &StoreOptions,
) -> Result<(Env<WithoutTls>, Table), StoreError> {
    let env = open_files(path, options)?;
    let meta = init_metadata(path, &env, options)?;
    Ok((env, meta))
}

/// Returns the bytes of the map in use.
pub(crate) fn page_bytes(env: &Env<WithoutTls>) -> u64 {
    (env.info().last_page_number as u64 + 1) * u64::from(env.unnamed_database_stat().page_size)
}

fn open_files(path: &Path, options: &StoreOptions) -> Result<Env<WithoutTls>, StoreError> {
    prepare_folder(path, options)?;
    let env = open_env(path, options)?;
    if !options.read_only {
        // A writer that was killed between the commit of a meta page and the publication of its number leaves both
        // different while other processes have the store open. LMDB adopts the commit when the next writer takes
        // the lock, so this process takes it before it reads anything.
        env.write_txn()?.abort();
    }
    check_length(path, &env)?;
    if env.info().last_txn_id == 0 {
        if options.read_only {
            return Err(StoreError::Absent { path: path.to_owned() });
        }
        create_tables(path, &env)?;
    }
    Ok(env)
}

fn prepare_folder(path: &Path, options: &StoreOptions) -> Result<(), StoreError> {
    if path.exists() && !path.is_dir() {
        return Err(StoreError::NotAStore { path: path.to_owned(), why: "it is not a folder".to_owned() });
    }
    let data = path.join(DATA_FILE);
    if options.read_only {
        let exists = data.try_exists().map_err(StoreError::io("read", &data))?;
        return if exists { Ok(()) } else { Err(StoreError::Absent { path: path.to_owned() }) };
    }
    fs::create_dir_all(path).map_err(StoreError::io("create", path))
}

fn open_env(path: &Path, options: &StoreOptions) -> Result<Env<WithoutTls>, StoreError> {
    let mut open = EnvOpenOptions::new().read_txn_without_tls();
    open.map_size(options.map_size).max_dbs(MAX_TABLES).max_readers(options.max_readers);
    let mut flags = EnvFlags::NO_READ_AHEAD;
    if options.read_only {
        flags |= EnvFlags::READ_ONLY;
    }
    // SAFETY: neither flag weakens LMDB's guarantees; locking and syncing stay on.
    unsafe { open.flags(flags) };
    // SAFETY: the file is changed only through LMDB, and its length is checked before it is read.
    let opened = unsafe { open.open(path) };
    opened.map_err(|error| open_error(path, error))
}

fn open_error(path: &Path, error: heed::Error) -> StoreError {
    match error {
        heed::Error::EnvAlreadyOpened => StoreError::InUse { path: path.to_owned() },
        heed::Error::Mdb(MdbError::Invalid | MdbError::VersionMismatch) => {
            StoreError::NotAStore { path: path.to_owned(), why: error.to_string() }
        }
        heed::Error::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => StoreError::Io {
            action: "reserve the address space of the map for",
            path: path.to_owned(),
            why: error.to_string(),
        },
        heed::Error::Io(error) if error.kind() != io::ErrorKind::StorageFull => {
            StoreError::io("open", path)(error)
        }
        other => other.into(),
    }
}

/// Checks that the file has all its pages: an attempt to read a missing one would kill the process.
fn check_length(path: &Path, env: &Env<WithoutTls>) -> Result<(), StoreError> {
    let file = env.try_clone_inner_file()?;
    let data = path.join(DATA_FILE);
    let page_size = env.unnamed_database_stat().page_size;
    let last = env.info().last_page_number as u64;
    let expected = last.saturating_add(1).saturating_mul(page_size.into());
    // Read after the expected length: a writing process may extend the file meanwhile.
    let length = file.metadata().map_err(StoreError::io("read", &data))?.len();
    if length >= expected || env.info().last_txn_id == 0 {
        return Ok(());
    }
    let (page_size, first_missing) = (page_size as usize, length / u64::from(page_size));
    if free_pages::trailing_pages_are_free(&file, page_size, first_missing, last)
        .map_err(StoreError::io("read", &data))?
    {
        return Ok(());
    }
    Err(StoreError::Truncated { path: data, length, expected })
}

/// Checks that the open file is still the one at its path: writes to a
/// removed file are lost when the process ends.
pub fn check_location(path: &Path, env: &Env<WithoutTls>) -> Result<(), StoreError> {
    let data = path.join(DATA_FILE);
    let opened =
        env.try_clone_inner_file()?.metadata().map_err(StoreError::io("read the attributes of", &data))?;
    match fs::metadata(&data) {
        Ok(current) if (current.dev(), current.ino()) == (opened.dev(), opened.ino()) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("read the attributes of", &data)(error))
        }
        _ => Err(StoreError::Moved { path: data }),
    }
}

/// Creates empty tables, which [`init_metadata`] initializes as a store.
fn create_tables(path: &Path, env: &Env<WithoutTls>) -> Result<(), StoreError> {
    let made =
        env.create_databases_and_commit(env.write_txn()?, |opener, txn| -> Result<_, heed::Error> {
            for name in Tables::NAMES {
                opener.create_database::<Bytes, Bytes>(txn, Some(name))?;
            }
            Ok(CommitOrAbort::<_, ()>::Commit(()))
        })?;
    made.commit().expect("the closure commits");
    // The names of new files are durable only after their folders are synced.
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    for folder in [Some(path), parent].into_iter().flatten() {
        File::open(folder).and_then(|f| f.sync_all()).map_err(StoreError::io("sync", folder))?;
    }
    Ok(())
}

/// Checks that the tables belong to the requested chain, and initializes new ones. Returns the `meta` table.
fn init_metadata(path: &Path, env: &Env<WithoutTls>, options: &StoreOptions) -> Result<Table, StoreError> {
    let Some(meta) = open_table(env, Tables::META)? else {
        let why = "it is an LMDB file, but not one of this program".to_owned();
        return Err(StoreError::NotAStore { path: path.to_owned(), why });
    };
    if meta.is_empty(&*env.read_txn()?)? {
        // New, or created by a process that ended before this point.
        if options.read_only {
            return Err(StoreError::Absent { path: path.to_owned() });
        }
        let mut txn = env.write_txn()?;
        meta::create(&meta, &mut txn, options)?;
        txn.commit()?;
    }
    meta::check(path, &meta, &*env.read_txn()?, options)?;
    Ok(meta)
}

fn open_tables(env: &Env<WithoutTls>) -> Result<Tables, StoreError> {
    let tables = Tables::NAMES.map(|name| match open_table(env, name)? {
        Some(table) => Ok(table),
        None => Err(StoreError::damaged(name, &[], "the table is missing")),
    });
    let tables = tables.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
    Ok(Tables::new(tables.try_into().unwrap_or_else(|_| unreachable!("one per name"))))
}

fn open_table(env: &Env<WithoutTls>, name: &'static str) -> Result<Option<Table>, StoreError> {
    let opened = env.open_databases_and_commit(env.read_txn()?, |opener, txn| {
        let database = opener.open_database::<Bytes, Bytes>(txn, Some(name))?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(database))
    })?;
    Ok(opened.commit().expect("the closure commits").map(|database| Table::new(name, database)))
}
