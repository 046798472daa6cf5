//! Compiles LMDB from the sources of the published crate `lmdb-master-sys`, with the patches of this folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Sources that are patched. The patches have no context, as `published/Cargo.lock` has the checksum of the crate.
const PATCHED: [(&str, &str); 2] = [("mdb.c", "mdb.c.patch"), ("lmdb.h", "lmdb.h.patch")];

/// Sources that are used as published.
const UNCHANGED: [&str; 2] = ["midl.c", "midl.h"];

/// Binary logarithm of the length of LMDB's page lists. A write transaction keeps at most 2^14 changed pages, 64 MiB,
/// in memory; the published crate keeps 2^17.
const MDB_IDL_LOGN: &str = "13";

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for path in ["build.rs", "published"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for (_, patch) in PATCHED {
        println!("cargo::rerun-if-changed={patch}");
    }

    let published = published_crate(&manifest);
    let sources = published.join("lmdb/libraries/liblmdb");
    for (name, patch) in PATCHED {
        write(&out.join(name), &patched(&read(&sources.join(name)), &read(&manifest.join(patch)), patch));
    }
    for name in UNCHANGED {
        write(&out.join(name), &read(&sources.join(name)));
    }
    write(&out.join("bindings.rs"), &read(&published.join("src/bindings.rs")));

    let mut compiler = cc::Build::new();
    compiler
        .define("MDB_IDL_LOGN", MDB_IDL_LOGN)
        .file(out.join("mdb.c"))
        .file(out.join("midl.c"))
        // Two variables of LMDB are not used in this build.
        .warnings(false);
    if env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_none() {
        compiler.define("NDEBUG", None);
    }
    compiler.compile("liblmdb.a");
}

/// Returns the folder of the published crate, which cargo downloads if it is not on this machine.
///
/// # Panics
/// If cargo cannot provide the crate.
fn published_crate(manifest: &Path) -> PathBuf {
    let cargo = |network: &[&str]| {
        Command::new(env::var_os("CARGO").expect("cargo sets it"))
            .args([
                "metadata",
                "--locked",
                "--format-version",
                "1",
                "--manifest-path",
                "published/Cargo.toml",
            ])
            .args(network)
            // Cargo looks there for configuration, such as vendored sources.
            .current_dir(manifest)
            .output()
            .expect("cargo runs")
    };
    let mut output = cargo(&["--offline"]);
    if !output.status.success() {
        output = cargo(&[]);
    }
    let metadata = String::from_utf8_lossy(&output.stdout);
    metadata
        .split("\"manifest_path\":\"")
        .filter_map(|rest| Path::new(rest.split('"').next()?).parent())
        .find(|folder| folder.join("lmdb/libraries/liblmdb/mdb.c").is_file())
        .unwrap_or_else(|| {
            panic!("no sources of lmdb-master-sys: {}", String::from_utf8_lossy(&output.stderr))
        })
        .to_path_buf()
}

/// Returns `source` with a patch applied.
fn patched(source: &str, patch: &str, name: &str) -> String {
    let patch =
        diffy::Patch::from_str(patch).unwrap_or_else(|error| panic!("{name} is not a unified diff: {error}"));
    diffy::apply(source, &patch)
        .unwrap_or_else(|error| panic!("{name} does not fit the published source: {error}"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}
