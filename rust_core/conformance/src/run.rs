//! Runs a suite on all cores and reports in a stable order.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

use crate::{
    Case, Counts, basic, blockchain, rlp,
    source::{Belongs, VectorFile, files},
    state, transaction, trie,
};

/// A family of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    State,
    Blockchain,
    Transaction,
    Trie,
    Rlp,
    Basic,
}

/// A path that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct RunError {
    pub path: PathBuf,
    pub error: io::Error,
}

/// The folder of each family. A file under another family's folder is passed over.
const FOLDERS: [(&str, Option<Suite>); 8] = [
    ("GeneralStateTests", Some(Suite::State)),
    ("state_tests", Some(Suite::State)),
    ("BlockchainTests", Some(Suite::Blockchain)),
    ("TransactionTests", Some(Suite::Transaction)),
    ("TrieTests", Some(Suite::Trie)),
    ("RLPTests", Some(Suite::Rlp)),
    ("BasicTests", Some(Suite::Basic)),
    ("ABITests", None),
];

impl Suite {
    fn wants(self, name: &str) -> Belongs {
        let folder = Path::new(name)
            .components()
            .find_map(|part| FOLDERS.iter().find(|(folder, _)| part.as_os_str() == *folder));
        match folder {
            Some((_, suite)) if *suite == Some(self) => Belongs::Yes,
            Some(_) => Belongs::No,
            None => Belongs::Unless,
        }
    }

    fn run_file(self, file: &VectorFile, fork: Option<&str>) -> Vec<Case> {
        let cases = match self {
            Self::State => state::run(file, fork),
            Self::Blockchain => blockchain::run(file, fork),
            Self::Transaction => transaction::run(file, fork),
            Self::Trie => trie::run(file),
            Self::Rlp => rlp::run(file),
            Self::Basic => basic::run(file),
        };
        cases.unwrap_or_else(|error| vec![Case::new(&file.name, "").outcome(Err(error.to_string()))])
    }
}

/// Runs every case of a suite in `paths` (files, folders, `.tar.zst` archives), or those of one `fork`, on all
/// cores. `emit` gets them file by file in the order of the paths and names, as soon as that order allows; `false`
/// ends the run there.
///
/// Not to be called from a rayon worker: it waits for them.
///
/// # Errors
/// When a path cannot be read. A file that is no vector of the suite is a failed case.
pub fn run(
    suite: Suite,
    paths: &[PathBuf],
    fork: Option<&str>,
    mut emit: impl FnMut(&Case) -> bool,
) -> Result<Counts, RunError> {
    let mut counts = Counts::default();
    let ended = AtomicBool::new(false);
    for path in paths {
        let found =
            files(path, &|name| suite.wants(name)).map_err(|error| RunError { path: path.clone(), error })?;
        let (sender, receiver) = mpsc::channel();
        rayon::in_place_scope(|scope| {
            for (index, file) in found.iter().enumerate() {
                let sender = sender.clone();
                let ended = &ended;
                scope.spawn(move |_| {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    // The receiver is there until every file was reported.
                    let _ = sender.send((index, suite.run_file(file, fork)));
                });
            }
            drop(sender);
            let mut waiting = BTreeMap::new();
            let mut next = 0;
            for (index, cases) in receiver {
                waiting.insert(index, cases);
                while let Some(cases) = waiting.remove(&next) {
                    next += 1;
                    for case in cases {
                        counts.cases += 1;
                        counts.failed += usize::from(!case.pass);
                        if !emit(&case) {
                            ended.store(true, Ordering::Relaxed);
                            return;
                        }
                    }
                }
            }
        });
        if ended.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(counts)
}

/// [`run`] with each case as one line of JSON.
pub fn run_lines(
    suite: Suite,
    paths: &[PathBuf],
    fork: Option<&str>,
    mut emit: impl FnMut(&str) -> bool,
) -> Result<Counts, RunError> {
    run(suite, paths, fork, |case| {
        let line = serde_json::to_string(case).expect("a case is strings and numbers");
        emit(&line)
    })
}
