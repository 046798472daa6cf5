//! Passes the name of the cargo profile to the crate, which reports it beside every measured figure.

use std::{env, path::Path};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // `PROFILE` is "release" for every profile that inherits from it; the target directory has the real name:
    // target/PROFILE/build/PACKAGE-HASH/out.
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let profile = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    let profile = profile.and_then(|name| name.to_str()).expect("OUT_DIR is below the profile's directory");
    println!("cargo:rustc-env=BUILD_PROFILE={profile}");
}
