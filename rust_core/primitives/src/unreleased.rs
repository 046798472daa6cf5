//! Data of programs that were never released.

/// Text after the name of a file that an unreleased program wrote. No program that was released reads such a file.
pub const UNRELEASED: &str = "was written by an unreleased version of Foreseal: start with an empty data directory; \
     to keep the chain, run `foreseal export` of that version, then `foreseal import` of this one";
