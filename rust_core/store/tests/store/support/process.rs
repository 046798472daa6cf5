//! Ignored tests that another test runs in a process of their own.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

const FOLDER: &str = "STORE_FOLDER";

/// Returns the command that runs one ignored test of this binary on the store in `folder`.
pub fn test_process(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture"]).env(FOLDER, folder);
    command
}

/// Returns the folder that [`test_process`] passed.
pub fn process_folder() -> PathBuf {
    std::env::var_os(FOLDER).expect("run by another test of this file").into()
}
