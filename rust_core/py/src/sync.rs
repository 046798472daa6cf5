//! Primitives of lock-free code, which `foreseal-interleavings` compiles with those of loom.

pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
