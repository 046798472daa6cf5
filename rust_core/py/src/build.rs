//! Properties of this build.

/// Returns the name of the cargo profile of this build: `dist` in a published wheel.
#[pyo3::pyfunction]
pub const fn build_profile() -> &'static str {
    env!("BUILD_PROFILE")
}

/// Returns the version of this build, such as `1.2.0`.
#[pyo3::pyfunction]
pub const fn build_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
