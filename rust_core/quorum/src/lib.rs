#![doc = include_str!("../README.md")]

mod append_error;
mod beat_sender;
mod chain_listing;
mod etcd;
mod fence;
mod journal_export;
mod journal_import;
mod journal_tail;
mod member_clocks;
mod member_entry;
mod member_positions;
mod observation;
mod owner;
mod quorum_check;
mod quorum_connection;
mod quorum_entry;
mod quorum_error;
mod quorum_head;
mod quorum_journal;
mod quorum_keys;
mod quorum_log;
mod quorum_record;
mod quorum_report;
mod quorum_store;
mod quorum_tail;
mod quorum_writer;
mod record_hash;
mod record_listing;
mod record_trimmer;
mod retention;
mod run_id;
mod silence_detector;

pub use append_error::{AppendError, FenceError};
pub use beat_sender::BeatSender;
pub use chain_listing::list_chains;
pub use etcd::{
    EtcdClientCertificate, EtcdSettings, EtcdSetupError, EtcdStore, EtcdTls, EtcdUrl, EtcdUser,
    InvalidEtcdUrl,
};
pub use fence::{Fence, QuorumAppend, Wait};
pub use journal_export::{JournalExport, write_export};
pub use journal_import::{ImportError, ImportMode, ImportReport, import_journal};
pub use journal_tail::{AppendSource, AppendSourceError, JournalTail, SourceAppend, SourceAppends};
pub use member_clocks::MemberClocks;
pub use member_entry::MemberEntry;
pub use observation::{HeadEntry, Observation, OwnerEntry};
pub use owner::Owner;
pub use quorum_check::{check_members, check_quorum_store, compare_hashes, read_hashes, read_statuses};
pub use quorum_entry::{QuorumEntry, StepOutline};
pub use quorum_error::QuorumStoreError;
pub use quorum_head::QuorumHead;
pub use quorum_journal::QuorumJournal;
pub use quorum_keys::{PART_SIZE, QuorumKeys};
pub use quorum_log::{Acquired, QuorumLog};
pub use quorum_record::{QuorumRecord, QuorumRecordError, RecordLink};
pub use quorum_report::{
    AppendLatency, CheckMode, MIN_ETCD_VERSION, QuorumFinding, QuorumMembership, QuorumReport,
};
pub use quorum_store::{
    EndpointHash, EndpointStatus, HashReading, KeyComparison, KeyOperation, KeyRange, KeyValue, MemberStatus,
    QuorumMember, QuorumRequest, QuorumResponse, QuorumStore,
};
pub use quorum_tail::TailError;
pub use quorum_writer::{BEAT_INTERVAL, QuorumHealth, QuorumWriter};
pub use record_hash::chain_hash;
pub use run_id::RunId;
pub use silence_detector::{FeedPort, Silence, SilenceDetector, SilenceReason};
