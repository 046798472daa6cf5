//! Production under a driver, a consensus client.

pub(crate) mod driver_state;
pub(crate) mod payload_builder;
