//! Primitives of lock-free code, which `foreseal-interleavings` compiles with those of loom.

pub use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use arc_swap::ArcSwapOption;
pub use parking_lot::{Condvar, Mutex};
