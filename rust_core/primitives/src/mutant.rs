//! Switches that break an invariant on purpose, to show that a test detects the violation.
//!
//! Without the feature `mutants`, every switch is the constant `false` and its branch is compiled out. With
//! it, the environment variable `FORESEAL_MUTANT` names the switch that is on.
//! `tests/campaigns/mutants/rust.toml` lists all switches, each with the test that must fail.

/// Returns `true` if the invariant named by this literal is broken on
/// purpose; always `false` without `mutants`.
///
/// ```
/// if !foreseal_primitives::mutant!("skip-sync") { /* sync */ }
/// ```
#[macro_export]
macro_rules! mutant {
    ($name:literal) => {
        $crate::mutant_is_on($name)
    };
}

/// The function behind [`mutant!`](crate::mutant!). Call the macro: its names are checked against the list.
#[cfg(not(feature = "mutants"))]
#[inline]
pub const fn mutant_is_on(_name: &str) -> bool {
    false
}

/// The function behind [`mutant!`](crate::mutant!). Call the macro: its names are checked against the list.
#[cfg(feature = "mutants")]
pub fn mutant_is_on(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("FORESEAL_MUTANT").ok()).as_deref() == Some(name)
}
