//! Vector files of a run: single files, folders, or a `.tar.zst` archive read without unpacking to disk.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use ruzstd::decoding::StreamingDecoder;

/// Maximum zstd window in bytes. The archives are compressed with long windows.
const MAX_WINDOW: u64 = 1 << 30;

/// Vector file in memory.
pub struct VectorFile {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Decision, by name, on the files to include in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSelection {
    Yes,
    No,
    /// Includes the file only if no other file under the same path is a `Yes`.
    Unless,
}

/// Returns the JSON files under `path` that belong to the run, sorted by name.
pub fn files(path: &Path, wanted: &dyn Fn(&str) -> FileSelection) -> io::Result<Vec<VectorFile>> {
    let mut vector_files = Vec::new();
    if path.is_dir() {
        walk(path, wanted, &mut vector_files)?;
    } else if path.to_string_lossy().ends_with(".tar.zst") {
        unpack(path, wanted, &mut vector_files)?;
    } else {
        // A file that was named explicitly runs, in any folder.
        vector_files.push(VectorFile { name: path.display().to_string(), bytes: std::fs::read(path)? });
    }
    if vector_files.iter().any(|file| wanted(&file.name) == FileSelection::Yes) {
        vector_files.retain(|file| wanted(&file.name) == FileSelection::Yes);
    }
    vector_files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(vector_files)
}

fn walk(
    folder: &Path,
    wanted: &dyn Fn(&str) -> FileSelection,
    vector_files: &mut Vec<VectorFile>,
) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        let name = path.display().to_string();
        if path.is_dir() {
            walk(&path, wanted, vector_files)?;
        } else if is_json(&path) && wanted(&name) != FileSelection::No {
            vector_files.push(VectorFile { name, bytes: std::fs::read(&path)? });
        }
    }
    Ok(())
}

fn unpack(
    path: &Path,
    wanted: &dyn Fn(&str) -> FileSelection,
    vector_files: &mut Vec<VectorFile>,
) -> io::Result<()> {
    let source = BufReader::new(File::open(path)?);
    let decoder = StreamingDecoder::new_with_max_window_size(source, MAX_WINDOW)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    for entry in tar::Archive::new(decoder).entries()? {
        let mut entry = entry?;
        let inside = entry.path()?.into_owned();
        let name = inside.display().to_string();
        if entry.header().entry_type().is_file() && is_json(&inside) && wanted(&name) != FileSelection::No {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            vector_files.push(VectorFile { name, bytes });
        }
    }
    Ok(())
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}
