#![doc = include_str!("../README.md")]
#![allow(clippy::needless_pass_by_value)] // pyo3 passes arguments by value

mod accounts;
mod answered;
mod backup;
mod bootstrap;
mod build;
mod caller;
mod chain_files;
mod chain_identity;
mod cluster;
mod cluster_settings;
mod cluster_target;
mod codec;
mod completions;
mod engine_api;
mod entrance;
mod errors;
mod feed_page;
mod freshness;
mod genesis;
mod input;
mod journal;
mod lanes;
mod large_result;
mod load;
mod log;
mod memory;
mod methods;
mod metrics;
mod node;
mod node_core;
mod outcome_sink;
mod pending_body;
mod pending_calls;
mod preconfirmation;
mod progress;
mod quorum_journal;
mod quorum_json;
mod rate_limits;
mod repeated_requests;
mod running_call;
mod settings;
mod settings_error;
mod stepped;
mod store;
mod store_repair;
mod streams;
mod sync;
mod trusted_setup;
mod vectors;
mod watchdog;
mod write_batch;

/// Native part of foreseal. Use the typed modules above it (`foreseal.codec`, `foreseal.server`).
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::accounts::derive_accounts;
    #[pymodule_export]
    use crate::answered::PyAnswered;
    #[pymodule_export]
    use crate::backup::{run_backup, run_restore};
    #[pymodule_export]
    use crate::build::{build_profile, build_version};
    #[pymodule_export]
    use crate::caller::PyCaller;
    #[pymodule_export]
    use crate::chain_files::{run_export, run_import};
    #[pymodule_export]
    use crate::cluster::{cluster_forget, cluster_members};
    #[pymodule_export]
    use crate::codec::bloom::{bloom_contains, bloom_contains_batch, logs_bloom, logs_bloom_batch};
    #[pymodule_export]
    use crate::codec::keccak::{keccak, keccak_batch};
    #[pymodule_export]
    use crate::codec::rlp::{rlp_decode, rlp_decode_batch, rlp_encode, rlp_encode_batch};
    #[pymodule_export]
    use crate::codec::signatures::{checksum_address, recover_addresses, sign_digests};
    #[pymodule_export]
    use crate::codec::trie::{PyTrie, ordered_trie_root, ordered_trie_root_batch, trie_root, verify_proof};
    #[pymodule_export]
    use crate::entrance::PyEntrance;
    #[pymodule_export]
    use crate::feed_page::split_feed_page;
    #[pymodule_export]
    use crate::genesis::{genesis_hash, newest_genesis};
    #[pymodule_export]
    use crate::journal::{journal_check, journal_repair, journal_show};
    #[pymodule_export]
    use crate::lanes::lane_room;
    #[pymodule_export]
    use crate::large_result::{PyLargeAnswer, PyLargeResult};
    #[pymodule_export]
    use crate::load::{PyLoad, PyResponder, PySubscribers, read_answer, sign_transactions};
    #[pymodule_export]
    use crate::methods::{development_method_names, method_names, openrpc};
    #[pymodule_export]
    use crate::node::{PyNode, PyView};
    #[pymodule_export]
    use crate::pending_body::PyPendingBody;
    #[pymodule_export]
    use crate::preconfirmation::{preconfirmation_contradiction, step_signer, verify_preconfirmation};
    #[pymodule_export]
    use crate::quorum_journal::{journal_check_engine, journal_export, journal_import};
    #[pymodule_export]
    use crate::rate_limits::PyBuckets;
    #[pymodule_export]
    use crate::repeated_requests::{PyListenerClock, PyRepeatedRequests};
    #[pymodule_export]
    use crate::settings::default_settings;
    #[pymodule_export]
    use crate::stepped::PySteppedNode;
    #[pymodule_export]
    use crate::store::{db_stats, db_verify};
    #[pymodule_export]
    use crate::store_repair::db_repair;
    #[pymodule_export]
    use crate::streams::PyDeferredMessages;
    #[pymodule_export]
    use crate::vectors::{blocktest, statetest};
    #[pymodule_export]
    use crate::watchdog::start_stop_watchdog;
    #[pymodule_export]
    use crate::write_batch::{PyBatchedTransport, PyWriteBatch};

    #[pymodule_export]
    const MAX_BATCH: usize = crate::write_batch::MAX_BATCH;
    #[pymodule_export]
    const MAX_BATCHED_SIZE: usize = crate::write_batch::MAX_BATCHED_SIZE;
}
