//! Coverage-guided engine for the target that `FORESEAL_FUZZ_TARGET` names.
#![no_main]

use std::sync::OnceLock;

use foreseal_fuzz::{Target, target};

static CHOSEN: OnceLock<&Target> = OnceLock::new();

fn choose() {
    let name = std::env::var("FORESEAL_FUZZ_TARGET").unwrap_or_default();
    let Some(target) = target(&name) else {
        eprintln!("FORESEAL_FUZZ_TARGET: there is no target called {name:?}");
        std::process::exit(2);
    };
    // This thread does all work: only its own allocations are counted, and it never waits for another thread.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    if let Err(error) = alone {
        eprintln!("the thread that fuzzes is not alone: {error}");
    }
    target.prepare();
    CHOSEN.get_or_init(|| target);
}

libfuzzer_sys::fuzz_target!(init: choose(), |data: &[u8]| {
    if let Some(target) = CHOSEN.get() {
        target.execute(data);
    }
});
