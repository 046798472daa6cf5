//! The chains below a prefix of a quorum store.

use alloy_primitives::B256;
use bytes::Bytes;
use foreseal_journal::Identity;
use foreseal_quorum::{KeyOperation, QuorumKeys, QuorumRequest, QuorumStore, list_chains};
use foreseal_simulated_quorum::{FaultRates, SimulatedStore};

#[test]
fn each_chain_below_the_prefix_is_listed_once() {
    let quorum = SimulatedStore::new(1, FaultRates::default());
    let identity = |chain_id, byte| Identity { chain_id, genesis: B256::repeat_byte(byte) };
    let chains = [identity(1, 1), identity(1, 2), identity(10, 0)];
    let mut keys = vec!["/a/other".to_owned(), "/a/x/owner".to_owned(), "/b/1/owner".to_owned()];
    for chain in &chains {
        let chain_keys = QuorumKeys::new("/a", chain);
        keys.extend([chain_keys.owner(), chain_keys.head(), chain_keys.record_part(1, 0)]);
    }
    let put = |key: &String| KeyOperation::Put { key: key.clone(), value: Bytes::from_static(b"{}") };
    let success = keys.iter().map(put).collect();
    let (comparisons, failure) = (Vec::new(), Vec::new());
    quorum.call(&QuorumRequest::Transaction { comparisons, success, failure }).unwrap();
    assert_eq!(list_chains(&quorum, "/a/").unwrap(), chains);
    assert_eq!(list_chains(&quorum, "/c").unwrap(), []);
}
