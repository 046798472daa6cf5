//! JSON of the store of a quorum journal.

use foreseal_quorum::{
    AppendLatency, CheckMode, EndpointHash, EndpointStatus, QuorumFinding, QuorumMember, QuorumReport,
};
use serde_json::{Value, json};

/// Returns the result of a check.
pub fn report_json(report: &QuorumReport, mode: CheckMode) -> Value {
    let AppendLatency { p50, p99, max } = report.appends;
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
    json!({
        "members": report.members.iter().map(member_json).collect::<Vec<_>>(),
        "endpoints": report.statuses.iter().map(status_json).collect::<Vec<_>>(),
        "hashes": report.hashes.iter().map(hash_json).collect::<Vec<_>>(),
        "appends": { "p50Ms": ms(p50), "p99Ms": ms(p99), "maxMs": ms(max) },
        "databaseBytes": report.database_bytes(),
        "findings": report.findings.iter().map(|finding| finding_json(finding, mode)).collect::<Vec<_>>(),
    })
}

/// Returns a finding; `rejected` is true if a node does not start on such a store.
pub fn finding_json(finding: &QuorumFinding, mode: CheckMode) -> Value {
    json!({ "code": finding.code(), "message": finding.to_string(), "rejected": finding.is_rejected(mode) })
}

/// Returns a member of the quorum store.
pub fn member_json(member: &QuorumMember) -> Value {
    let QuorumMember { id, name, urls, is_learner } = member;
    json!({ "id": format!("{id:x}"), "name": name, "urls": urls, "learner": is_learner })
}

/// Returns the status of the member behind one endpoint; `error` if it did not answer.
pub fn status_json(entry: &EndpointStatus) -> Value {
    match &entry.status {
        Ok(status) => json!({
            "endpoint": entry.endpoint,
            "id": format!("{:x}", status.member),
            "version": status.version,
            "leader": status.leader != 0 && status.leader == status.member,
            "hasLeader": status.leader != 0,
            "revision": status.revision,
            "databaseBytes": status.database_bytes,
            "usedBytes": status.used_bytes,
            "alarms": status.errors,
            "error": null,
        }),
        Err(error) => json!({ "endpoint": entry.endpoint, "error": error.to_string() }),
    }
}

fn hash_json(entry: &EndpointHash) -> Value {
    match &entry.hash {
        Ok(reading) => json!({
            "endpoint": entry.endpoint,
            "hash": reading.hash,
            "compaction": reading.compaction,
            "error": null,
        }),
        Err(error) => json!({ "endpoint": entry.endpoint, "error": error.to_string() }),
    }
}
