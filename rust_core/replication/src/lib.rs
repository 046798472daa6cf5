#![doc = include_str!("../README.md")]

mod error;
mod follower;
mod phase;
mod production;
mod server;
mod store_status;
mod submit_error;
pub mod wire;

pub use error::ReplicationError;
pub use follower::{
    CatchingUp, FollowerBackend, FollowerClient, ManualFollower, ReplicaConfig, SubmissionHandle,
};
pub use phase::{Phase, PoolStart};
pub use production::{InvalidProduction, Production};
pub use server::{
    FeedConfig, FeedServer, FeedSource, FollowerStatus, FrameLog, LogStatus, ManualServer, Pace, RingLimits,
    SequencerBackend,
};
pub use store_status::{ScrubStatus, StoreStatus};
pub use submit_error::SubmitError;
