//! Client of etcd.

mod etcd_endpoint;
mod etcd_engine;
mod etcd_settings;
mod etcd_url;
mod messages;
mod status_error;
mod translation;

pub use etcd_engine::EtcdEngine;
pub use etcd_settings::{EtcdClientCertificate, EtcdSettings, EtcdSetupError, EtcdTls, EtcdUser};
pub use etcd_url::{EtcdUrl, InvalidEtcdUrl};
