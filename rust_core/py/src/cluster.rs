//! Commands on the cluster of a chain, through its quorum store.

use std::sync::Arc;

use foreseal_quorum::{
    CheckMode, EtcdStore, MemberEntry, Observation, Owner, QuorumHead, QuorumKeys, QuorumLog, check_members,
    read_statuses,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::cluster_target::{ClusterTargetError, PyClusterTarget};
use crate::errors::CoreError;
use crate::input::Input;
use crate::quorum_json::{finding_json, member_json, status_json};

/// Returns the quorum store's members, and owner, head and members of a chain, as JSON. `options` is a JSON object:
/// `journal` as in the settings of `Node`, and `genesis` (a path) or `chain_id`, if the quorum store has several
/// chains.
///
/// A quorum store without a majority is part of the result: `error` says why, and `chain` is null.
///
/// Raises NodeError: kind "settings" if the options are invalid or name no single chain, "genesis" if the genesis
/// file is.
#[pyfunction]
pub fn cluster_members<'py>(py: Python<'py>, options: Input<'_>) -> PyResult<Bound<'py, PyBytes>> {
    let options: &[u8] = &options;
    let json = py.detach(|| -> Result<_, CoreError> {
        let target = PyClusterTarget::parse(options)?;
        let (quorum, prefix) = target.connect()?;
        let mut report = quorum_json(&quorum, target.mode());
        match chain_json(&target, &quorum, &prefix) {
            Ok(chain) => report["chain"] = chain,
            Err(CoreError::ClusterTarget(ClusterTargetError::QuorumStore(error))) => {
                report["error"] = error.to_string().into();
            }
            Err(error) => return Err(error),
        }
        Ok(serde_json::to_vec(&report)?)
    })?;
    Ok(PyBytes::new(py, &json))
}

/// Removes the entry of a member, so that the quorum store no longer retains records for it. Returns false if there is
/// none with this name. `options` are those of `cluster_members`. A member that runs registers again.
///
/// Raises NodeError: kind "settings" if the options are invalid, "quorum" if the quorum store does not answer.
#[pyfunction]
pub fn cluster_forget(py: Python<'_>, options: Input<'_>, name: &str) -> PyResult<bool> {
    let options: &[u8] = &options;
    Ok(py.detach(|| -> Result<_, CoreError> {
        let target = PyClusterTarget::parse(options)?;
        let (quorum, prefix) = target.connect()?;
        let identity = target.identity(&quorum, &prefix)?;
        let log = QuorumLog::new(quorum, QuorumKeys::new(&prefix, &identity));
        let known = log.members().map_err(ClusterTargetError::from)?;
        if !known.iter().any(|member| member.key_name() == name) {
            return Ok(false);
        }
        log.unregister(name).map_err(ClusterTargetError::from)?;
        Ok(true)
    })?)
}

fn quorum_json(quorum: &EtcdStore, mode: CheckMode) -> Value {
    let (members, statuses, findings) = match check_members(quorum) {
        Ok(membership) => (membership.members, membership.statuses, membership.findings),
        // Without a majority, the members still report their own status.
        Err(_) => (Vec::new(), read_statuses(quorum).unwrap_or_default(), Vec::new()),
    };
    json!({
        "engine": {
            "members": members.iter().map(member_json).collect::<Vec<_>>(),
            "endpoints": statuses.iter().map(status_json).collect::<Vec<_>>(),
            "findings": findings.iter().map(|finding| finding_json(finding, mode)).collect::<Vec<_>>(),
        },
        "chain": null,
        "error": null,
    })
}

fn chain_json(target: &PyClusterTarget, quorum: &Arc<EtcdStore>, prefix: &str) -> Result<Value, CoreError> {
    let identity = target.identity(quorum, prefix)?;
    let log = QuorumLog::new(quorum.clone(), QuorumKeys::new(prefix, &identity));
    let observed = log.observe().map_err(ClusterTargetError::from)?;
    // An owner writes the head, or the beat several times a second.
    let written = observed.owner_revision().max(observed.beat_revision).max(observed.head_revision());
    let Observation { owner, head, .. } = observed;
    let members = log.members().map_err(ClusterTargetError::from)?;
    Ok(json!({
        "chainId": identity.chain_id,
        "genesis": identity.genesis,
        "owner": owner.map(|entry| owner_json(&entry.owner)),
        "head": head.map(|entry| head_json(&entry.head)),
        "written": written,
        "members": members.iter().map(entry_json).collect::<Vec<_>>(),
    }))
}

fn owner_json(owner: &Owner) -> Value {
    json!({
        "runId": owner.run_id.to_string(),
        "epoch": owner.epoch,
        "name": owner.name,
        "feed": owner.feed,
        "rpc": owner.rpc,
        "version": owner.version,
        "released": owner.released,
    })
}

fn head_json(head: &QuorumHead) -> Value {
    json!({ "sequence": head.sequence, "block": head.block, "index": head.index, "epoch": head.epoch })
}

fn entry_json(member: &MemberEntry) -> Value {
    json!({
        "key": member.key_name(),
        "runId": member.run_id.to_string(),
        "name": member.name,
        "role": member.role,
        "feed": member.feed,
        "rpc": member.rpc,
        "version": member.version,
        "next": member.next,
        "updatedMs": member.updated,
    })
}
