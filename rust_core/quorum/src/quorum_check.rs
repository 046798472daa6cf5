//! Check of a quorum store before it is used, and at intervals.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bytes::Bytes;

use crate::{
    quorum_error::QuorumStoreError,
    quorum_keys::QuorumKeys,
    quorum_report::{AppendLatency, MIN_ETCD_VERSION, QuorumFinding, QuorumMembership, QuorumReport},
    quorum_store::{
        EndpointHash, EndpointStatus, KeyOperation, QuorumMember, QuorumRequest, QuorumResponse, QuorumStore,
    },
};

/// Number of measured appends.
const APPENDS: usize = 100;
/// Size of a measured append, that of a typical step.
const APPEND_SIZE: usize = 17 << 10;
/// Maximum rounds until all members have a compared revision.
const MAX_HASH_ROUNDS: usize = 50;
/// Time between the choice of a revision and its comparison in a repeated round.
const HASH_PAUSE: Duration = Duration::from_millis(100);

/// Checks versions, number of members, agreement of their data and the duration of appends.
///
/// # Errors
/// Returns the quorum store's error if a majority does not answer, or rejects a measured append.
pub fn check_quorum_store(
    quorum: &dyn QuorumStore,
    keys: &QuorumKeys,
    clock: &dyn Fn() -> Duration,
) -> Result<QuorumReport, QuorumStoreError> {
    let QuorumMembership { members, statuses, mut findings } = check_members(quorum)?;
    let appends = measure_appends(quorum, keys, clock)?;
    let hashes = read_hashes(quorum)?;
    findings.extend(compare_hashes(&hashes));
    Ok(QuorumReport { members, statuses, hashes, appends, findings })
}

/// Checks versions and number of members without a write.
///
/// # Errors
/// Returns the quorum store's error if no member lists the others.
pub fn check_members(quorum: &dyn QuorumStore) -> Result<QuorumMembership, QuorumStoreError> {
    let members = members(quorum)?;
    let statuses = read_statuses(quorum)?;
    let mut findings = Vec::new();
    if members.iter().filter(|member| !member.is_learner).count() < 2 {
        findings.push(QuorumFinding::SingleNode);
    }
    for status in &statuses {
        findings.extend(judge_status(status));
    }
    findings.extend(list_alarms(&members, &statuses));
    Ok(QuorumMembership { members, statuses, findings })
}

/// Reads the status of each endpoint. A member that does not answer is part of the result.
///
/// # Errors
/// Returns the quorum store's error if the request itself is rejected.
pub fn read_statuses(quorum: &dyn QuorumStore) -> Result<Vec<EndpointStatus>, QuorumStoreError> {
    match quorum.call(&QuorumRequest::Status)? {
        QuorumResponse::Status(statuses) => Ok(statuses),
        _ => Err(QuorumStoreError::invalid_response("expected the status of the members")),
    }
}

/// Reads the hash of each member's data at the current revision. If a member lags behind it, or has compacted it, all
/// are read again at a newer one, after a pause in which they can apply it.
///
/// # Errors
/// Returns the quorum store's error if a majority does not answer.
pub fn read_hashes(quorum: &dyn QuorumStore) -> Result<Vec<EndpointHash>, QuorumStoreError> {
    let mut hashes = hashes_at(quorum, execute(quorum, Vec::new())?)?;
    for _ in 1..MAX_HASH_ROUNDS {
        if !hashes.iter().any(|hash| matches!(hash.hash, Err(QuorumStoreError::Revision { .. }))) {
            break;
        }
        let revision = execute(quorum, Vec::new())?;
        std::thread::sleep(HASH_PAUSE);
        hashes = hashes_at(quorum, revision)?;
    }
    Ok(hashes)
}

fn hashes_at(quorum: &dyn QuorumStore, revision: u64) -> Result<Vec<EndpointHash>, QuorumStoreError> {
    match quorum.call(&QuorumRequest::HashKv { revision })? {
        QuorumResponse::HashKv(hashes) => Ok(hashes),
        _ => Err(QuorumStoreError::invalid_response("expected the hashes of the members")),
    }
}

/// Returns a finding if members with the same compaction have different hashes.
pub fn compare_hashes(hashes: &[EndpointHash]) -> Option<QuorumFinding> {
    let mut by_compaction: BTreeMap<u64, Vec<(&str, u32)>> = BTreeMap::new();
    for entry in hashes {
        if let Ok(reading) = &entry.hash {
            by_compaction.entry(reading.compaction).or_default().push((&entry.endpoint, reading.hash));
        }
    }
    let group =
        by_compaction.into_values().find(|group| group.iter().any(|(_, hash)| *hash != group[0].1))?;
    let endpoints = group.iter().map(|(endpoint, _)| (*endpoint).to_owned()).collect();
    Some(QuorumFinding::DifferentHashes { endpoints })
}

fn members(quorum: &dyn QuorumStore) -> Result<Vec<QuorumMember>, QuorumStoreError> {
    match quorum.call(&QuorumRequest::Members)? {
        QuorumResponse::Members(members) => Ok(members),
        _ => Err(QuorumStoreError::invalid_response("expected the members")),
    }
}

fn judge_status(entry: &EndpointStatus) -> Vec<QuorumFinding> {
    let endpoint = || entry.endpoint.clone();
    let status = match &entry.status {
        Ok(status) => status,
        Err(error) => {
            return vec![QuorumFinding::Unreachable { endpoint: endpoint(), error: error.clone() }];
        }
    };
    let mut findings = Vec::new();
    if parse_version(&status.version).is_none_or(|version| version < MIN_ETCD_VERSION) {
        findings.push(QuorumFinding::Version { endpoint: endpoint(), version: status.version.clone() });
    }
    findings
}

/// Returns each alarm once, with the member that has it: every member reports those of all members.
fn list_alarms(members: &[QuorumMember], statuses: &[EndpointStatus]) -> Vec<QuorumFinding> {
    let mut alarms = BTreeSet::new();
    let mut findings = Vec::new();
    for entry in statuses {
        for text in entry.status.iter().flat_map(|status| &status.errors) {
            match parse_alarm(text) {
                Some((id, alarm)) if alarms.insert((id, alarm)) => {
                    findings.push(QuorumFinding::Alarm {
                        member: describe(members, id),
                        alarm: alarm.to_owned(),
                    });
                }
                Some(_) => {}
                None => findings.push(QuorumFinding::ReportedError {
                    endpoint: entry.endpoint.clone(),
                    error: text.clone(),
                }),
            }
        }
    }
    findings
}

/// Parses an alarm in the form of etcd: `memberID:13803658152347727308 alarm:NOSPACE`.
fn parse_alarm(text: &str) -> Option<(u64, &str)> {
    let (id, alarm) = text.trim().strip_prefix("memberID:")?.split_once(' ')?;
    Some((id.parse().ok()?, alarm.trim().strip_prefix("alarm:")?))
}

/// Returns name, URLs and id of a member. `etcdctl` writes ids in hexadecimal.
fn describe(members: &[QuorumMember], id: u64) -> String {
    let Some(member) = members.iter().find(|member| member.id == id) else { return format!("{id:x}") };
    let name = if member.name.is_empty() { "without a name" } else { &member.name };
    format!("{name} ({}, {id:x})", member.urls.join(", "))
}

/// Returns the three numbers of a version such as `3.5.14` or `3.6.0-rc.1`.
fn parse_version(version: &str) -> Option<[u64; 3]> {
    let release = version.split(['-', '+']).next()?;
    let numbers = release.split('.').map(|number| number.parse().ok()).collect::<Option<Vec<u64>>>()?;
    numbers.try_into().ok()
}

fn measure_appends(
    quorum: &dyn QuorumStore,
    keys: &QuorumKeys,
    clock: &dyn Fn() -> Duration,
) -> Result<AppendLatency, QuorumStoreError> {
    let key = keys.measurement();
    let value = Bytes::from(vec![0x5a; APPEND_SIZE]);
    let mut durations = Vec::with_capacity(APPENDS);
    for _ in 0..APPENDS {
        let started = clock();
        execute(quorum, vec![KeyOperation::Put { key: key.clone(), value: value.clone() }])?;
        durations.push(clock().saturating_sub(started));
    }
    execute(quorum, vec![KeyOperation::Delete { to: format!("{key}\0"), from: key }])?;
    AppendLatency::measure(durations)
        .ok_or_else(|| QuorumStoreError::invalid_response("no append was measured"))
}

/// Executes operations without a condition. Returns the revision.
fn execute(quorum: &dyn QuorumStore, success: Vec<KeyOperation>) -> Result<u64, QuorumStoreError> {
    let request = QuorumRequest::Transaction { comparisons: Vec::new(), success, failure: Vec::new() };
    match quorum.call(&request)? {
        QuorumResponse::Transaction { revision, .. } => Ok(revision),
        _ => Err(QuorumStoreError::invalid_response("expected the response of a transaction")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        quorum_report::CheckMode,
        quorum_store::{HashReading, MemberStatus},
    };

    #[test]
    fn an_alarm_names_its_member_once() {
        let members = [(0x8e9e, "etcd-1"), (0xa7, "")].map(|(id, name)| QuorumMember {
            id,
            name: name.to_owned(),
            urls: vec![format!("http://10.0.0.{}:2379", id & 0xf)],
            is_learner: false,
        });
        let statuses = ["a:2379", "b:2379"].map(|endpoint| EndpointStatus {
            endpoint: endpoint.to_owned(),
            status: Ok(MemberStatus {
                member: 1,
                version: "3.6.0".to_owned(),
                leader: 1,
                revision: 1,
                database_bytes: 1,
                used_bytes: 1,
                errors: [
                    "memberID:36510 alarm:NOSPACE ",
                    "memberID:167 alarm:CORRUPT ",
                    "memberID:5 alarm:NOSPACE",
                ]
                .map(str::to_owned)
                .into(),
            }),
        });
        let alarms = list_alarms(&members, &statuses);
        let texts: Vec<String> = alarms.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "the database of etcd member etcd-1 (http://10.0.0.14:2379, 8e9e) is full (NOSPACE), so etcd rejects \
                 writes: compact, defragment this member, then run `etcdctl alarm disarm`",
                "etcd member without a name (http://10.0.0.7:2379, a7) has the alarm CORRUPT",
                "the database of etcd member 5 is full (NOSPACE), so etcd rejects writes: compact, defragment this \
                 member, then run `etcdctl alarm disarm`",
            ]
        );
        let other = [EndpointStatus {
            status: statuses[0]
                .status
                .clone()
                .map(|status| MemberStatus { errors: vec!["etcdserver: no leader".to_owned()], ..status }),
            endpoint: "a:2379".to_owned(),
        }];
        assert_eq!(
            list_alarms(&members, &other)[0].to_string(),
            "etcd at a:2379 reports: etcdserver: no leader"
        );
    }

    #[test]
    fn different_hashes_are_rejected_even_if_forced() {
        let hash = |endpoint: &str, hash, compaction| EndpointHash {
            endpoint: endpoint.to_owned(),
            hash: Ok(HashReading { member: 1, hash, compaction }),
        };
        assert_eq!(compare_hashes(&[hash("a", 1, 1), hash("b", 1, 1), hash("c", 2, 5)]), None);
        let finding = compare_hashes(&[hash("a", 1, 1), hash("b", 2, 1)]).unwrap();
        let endpoints = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(finding, QuorumFinding::DifferentHashes { endpoints });
        assert!(finding.is_rejected(CheckMode::Forced));
    }
}
