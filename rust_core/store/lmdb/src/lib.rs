//! Bindings of LMDB with a checksum in every page; `README.md` lists the changes to LMDB.

mod checksum;

pub use checksum::foreseal_fold;

/// Bindings of the published crate, generated from LMDB's header.
#[allow(clippy::all, non_camel_case_types, reason = "generated")]
#[allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags, reason = "comments of LMDB")]
mod bindings {
    /// Permissions of a new file.
    pub type mdb_mode_t = libc::mode_t;
    /// A file descriptor.
    pub type mdb_filehandle_t = libc::c_int;

    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}

pub use bindings::*;

extern "C" {
    /// Returns the number of the page that the newest transaction of this thread found damaged or missing; 0 for none.
    pub fn mdb_bad_page() -> usize;
}
