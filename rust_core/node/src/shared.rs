//! State that the thread which writes the chain shares with those that serve requests.

pub(crate) mod admission;
pub(crate) mod commands;
pub(crate) mod health;
pub(crate) mod leadership;
pub(crate) mod payload_feed;
pub(crate) mod publication;
pub(crate) mod request_handler;
pub(crate) mod shared_state;
pub(crate) mod stop_signal;
