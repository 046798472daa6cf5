#![doc = include_str!("../README.md")]

mod error;
mod follower;
mod log_limiter;
mod phase;
mod production;
mod server;
mod store_status;
mod submit_error;
mod transport;
pub mod wire;

pub use error::ReplicationError;
#[cfg(feature = "simulation")]
pub use follower::ManualFollower;
pub use follower::{
    ApplyError, CatchingUp, ChainCopy, ConnectionError, CopyError, CopyProgress, DirectoryCopyError,
    FollowerBackend, FollowerClient, FollowerConfig, FollowerProfile, RestartCause, SharedStoreChain,
    SubmissionCallback, SubmissionHandle, Upstream, WorkerChainConfig, fetch_directory_copy,
};
pub use phase::{Phase, PoolStart};
pub use production::{InvalidProduction, Production};
#[cfg(feature = "simulation")]
pub use server::ManualServer;
pub use server::{
    ConnectionOrigin, DirectoryCopySource, FeedConfig, FeedServer, FeedSource, FollowerStatus, FrameLog,
    LogStatus, Pace, RingLimits, SequencerBackend,
};
pub use store_status::{ScrubStatus, StoreStatus};
pub use submit_error::SubmitError;
pub use transport::{
    CredentialError, FeedAddress, FeedConnector, FeedCredentials, FeedListener, FeedSecurity,
    InvalidFeedAddress, ListenerLimits,
};
