#![doc = include_str!("../README.md")]

mod log_index;

pub use log_index::{Additions, Criterion, LogIndex, LogIndexError, Matches, Next};
