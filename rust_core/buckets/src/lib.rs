#![doc = include_str!("../README.md")]

mod memory;
mod quota;
mod table;

pub use memory::{HEAD, SECRET, TableError};
pub use quota::{MOST_SPAN, Quota};
pub use table::{LINE, Table};
