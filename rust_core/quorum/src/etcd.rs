//! Client of etcd.

mod etcd_endpoint;
mod etcd_settings;
mod etcd_store;
mod etcd_url;
mod messages;
mod status_error;
mod translation;

pub use etcd_settings::{EtcdClientCertificate, EtcdSettings, EtcdSetupError, EtcdTls, EtcdUser};
pub use etcd_store::EtcdStore;
pub use etcd_url::{EtcdUrl, InvalidEtcdUrl};
