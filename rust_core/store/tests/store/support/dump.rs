//! All entries of a closed store, read without the crate.

use std::{collections::BTreeMap, path::Path};

use heed::{CommitOrAbort, Env, EnvOpenOptions, types::Bytes};

pub type Dump = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

pub fn open(folder: &Path) -> Env {
    let mut open = EnvOpenOptions::new();
    // SAFETY: no other environment of this process has the file open.
    unsafe { open.map_size(1 << 30).max_dbs(64).open(folder).unwrap() }
}

pub type Database = heed::Database<'static, Bytes, Bytes>;

pub fn table(env: &Env, name: &str) -> Database {
    env.open_databases_and_commit(env.read_txn().unwrap(), |opener, txn| {
        let table = opener.open_database::<Bytes, Bytes>(txn, Some(name))?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(table))
    })
    .unwrap()
    .commit()
    .unwrap()
    .unwrap_or_else(|| panic!("no table {name}"))
}

fn names(env: &Env) -> Vec<String> {
    let main = env
        .open_databases_and_commit(env.read_txn().unwrap(), |opener, txn| {
            let table = opener.open_database::<Bytes, Bytes>(txn, None)?;
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(table))
        })
        .unwrap()
        .commit()
        .unwrap()
        .unwrap();
    let txn = env.read_txn().unwrap();
    let names = main.iter(&txn).unwrap().map(|entry| String::from_utf8(entry.unwrap().0.to_vec()).unwrap());
    names.collect()
}

pub fn dump(folder: &Path) -> Dump {
    let env = open(folder);
    let entries = |name: String| {
        let table = table(&env, &name);
        let txn = env.read_txn().unwrap();
        let entries = table.iter(&txn).unwrap().map(|entry| {
            let (key, value) = entry.unwrap();
            (key.to_vec(), value.to_vec())
        });
        (name, entries.collect())
    };
    let dump = names(&env).into_iter().map(entries).collect();
    env.prepare_for_closing().wait();
    dump
}
