//! Properties of this build.

/// Returns the name of the cargo profile of this build: `dist` in a published wheel.
#[pyo3::pyfunction]
pub const fn build_profile() -> &'static str {
    env!("BUILD_PROFILE")
}
