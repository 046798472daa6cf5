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
    source::{FileSelection, VectorFile, files},
    state, transaction, trie,
};

/// Family of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    State,
    Blockchain,
    Transaction,
    Trie,
    Rlp,
    Basic,
}

/// Error for a path that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct RunError {
    pub path: PathBuf,
    pub error: io::Error,
}

/// Folder names of each family. A suite skips files in the folder of another family.
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
    fn wants(self, name: &str) -> FileSelection {
        let folder = Path::new(name)
            .components()
            .find_map(|part| FOLDERS.iter().find(|(folder, _)| part.as_os_str() == *folder));
        match folder {
            Some((_, suite)) if *suite == Some(self) => FileSelection::Yes,
            Some(_) => FileSelection::No,
            None => FileSelection::Unless,
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

/// Runs the cases of a suite in `paths` (files, folders, `.tar.zst` archives) on all cores, optionally only
/// those of `fork`.
///
/// `emit` receives the cases file by file, ordered by path and name, as soon as that order allows. If it
/// returns `false`, the run ends.
///
/// Must not be called from a rayon worker: it blocks until the workers finish.
///
/// # Errors
///
/// Returns an error if a path cannot be read. A file that is not a vector of the suite counts as a failed
/// case.
pub fn run(
    suite: Suite,
    paths: &[PathBuf],
    fork: Option<&str>,
    mut emit: impl FnMut(&Case) -> bool,
) -> Result<Counts, RunError> {
    let mut counts = Counts::default();
    let ended = AtomicBool::new(false);
    for path in paths {
        let vector_files =
            files(path, &|name| suite.wants(name)).map_err(|error| RunError { path: path.clone(), error })?;
        let (sender, receiver) = mpsc::channel();
        rayon::in_place_scope(|scope| {
            for (index, file) in vector_files.iter().enumerate() {
                let sender = sender.clone();
                let ended = &ended;
                scope.spawn(move |_| {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    // The receiver is dropped early only if `emit` ended the run.
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

/// Runs a suite like [`run`], with each case serialized as one line of JSON.
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
