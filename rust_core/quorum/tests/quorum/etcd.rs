//! The quorum store on a real etcd; skipped if it is not installed.

use std::{
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use foreseal_quorum::{
    Acquired, AppendError, CheckMode, EtcdClientCertificate, EtcdSettings, EtcdStore, EtcdTls, EtcdUser,
    KeyComparison, KeyOperation, KeyRange, PART_SIZE, QuorumFinding, QuorumLog, QuorumRecord, QuorumRequest,
    QuorumResponse, QuorumStore, QuorumStoreError, RunId, TailError, check_members, check_quorum_store,
};

use crate::{
    etcd_process::{EtcdProcess, PATIENCE, retry},
    log::{append, append_after, append_many, keys, owner, won},
};

fn put(key: &str, value: &[u8]) -> KeyOperation {
    KeyOperation::Put { key: key.to_owned(), value: value.to_vec().into() }
}

fn transaction(comparisons: Vec<KeyComparison>, success: Vec<KeyOperation>) -> QuorumRequest {
    QuorumRequest::Transaction {
        comparisons,
        success,
        failure: vec![KeyOperation::Get { key: "a".to_owned() }],
    }
}

#[test]
fn etcd_compares_revisions_and_reads_ranges() {
    let Some(etcd) = EtcdProcess::start(&[]) else { return };
    let quorum = etcd.quorum();
    let absent = || vec![KeyComparison { key: "a".to_owned(), revision: 0 }];
    let create = transaction(absent(), vec![put("a", b"1"), put("b", b"2"), put("c", b"3")]);
    // Only a read may be repeated: an attempt whose answer is lost may have created the keys.
    let all = KeyRange { from: "a".to_owned(), to: "z".to_owned(), limit: 0, keys_only: true };
    retry(|| quorum.call(&QuorumRequest::Range(all.clone())));
    let QuorumResponse::Transaction { succeeded: true, revision, .. } = quorum.call(&create).unwrap() else {
        panic!("the first transaction failed")
    };
    let QuorumResponse::Transaction { succeeded: false, results, .. } = quorum.call(&create).unwrap() else {
        panic!("the key is present")
    };
    assert_eq!((&results[0][0].value[..], results[0][0].revision), (&b"1"[..], revision));
    let delete = KeyOperation::Delete { from: "b".to_owned(), to: "c".to_owned() };
    quorum.call(&transaction(Vec::new(), vec![delete])).unwrap();
    let range = |limit, keys_only| {
        let (from, to) = ("a".to_owned(), "z".to_owned());
        quorum.call(&QuorumRequest::Range(KeyRange { from, to, limit, keys_only })).unwrap()
    };
    let QuorumResponse::Range { entries, more: false } = range(0, true) else { panic!("keys are missing") };
    let listed: Vec<_> = entries.iter().map(|entry| (entry.key.as_str(), entry.value.len())).collect();
    assert_eq!(listed, [("a", 0), ("c", 0)]);
    assert!(matches!(range(1, false), QuorumResponse::Range { entries, more: true } if entries.len() == 1));
    quorum.call(&QuorumRequest::Compact { revision }).unwrap();
    let repeated = quorum.call(&QuorumRequest::Compact { revision });
    assert!(matches!(repeated, Err(QuorumStoreError::Revision { .. })), "{repeated:?}");
    let large = transaction(Vec::new(), vec![put("a", &vec![0; 3 << 20])]);
    assert!(matches!(quorum.call(&large), Err(QuorumStoreError::Rejected { .. })));
}

#[test]
fn etcd_holds_one_owner_and_its_appends() {
    let Some(etcd) = EtcdProcess::start(&[]) else { return };
    let log = QuorumLog::new(Arc::new(etcd.quorum()), keys());
    let seen = retry(|| log.observe());
    let Acquired::Won(mut first) = log.acquire(&seen, &owner(1, 1)).unwrap() else { panic!("lost") };
    append_many(&mut first, 20, 17_000);
    let large = append_after(&first, 2 * PART_SIZE, 9);
    append(&mut first, &large, 100).unwrap();
    first.beat().unwrap();
    let standby = QuorumLog::new(Arc::new(etcd.quorum()), keys());
    let records = standby.read_records(0, usize::MAX).unwrap();
    assert_eq!(records.len(), 21);
    assert_eq!(records[20], QuorumRecord::decode(&large.record).unwrap());
    assert!(matches!(standby.acquire(&seen, &owner(2, 2)), Ok(Acquired::Lost(_))));
    let mut second = won(&standby, 2);
    assert_eq!(second.head(), first.head());
    let next = append_after(&first, 10, 3);
    let fenced = append(&mut first, &next, 100);
    assert!(
        matches!(&fenced, Err(AppendError::Fenced { owner: Some(owner) }) if owner.epoch == 2),
        "{fenced:?}"
    );
    append_many(&mut second, 1, 10);
    second.trim(15).unwrap();
    assert_eq!(standby.read_records(3, 1), Err(TailError::TooOld { wanted: 3, first: 15 }));
    second.release(Some(RunId([3; 16]))).unwrap();
    assert!(standby.observe().unwrap().owner.unwrap().owner.released);
}

#[test]
fn check_of_a_single_etcd_finds_a_single_node() {
    let Some(etcd) = EtcdProcess::start(&[]) else { return };
    let quorum = etcd.quorum();
    let started = Instant::now();
    retry(|| quorum.call(&QuorumRequest::Members));
    let report = check_quorum_store(&quorum, &keys(), &|| started.elapsed()).unwrap();
    assert!(report.findings.contains(&QuorumFinding::SingleNode), "{report:?}");
    assert!(report.rejections(CheckMode::Forced).is_empty(), "{report:?}");
    assert!(report.hashes.iter().all(|hash| hash.hash.is_ok()), "{report:?}");
    assert!(report.database_bytes() > 0);
}

#[test]
fn unreachable_etcd_does_not_answer() {
    let Some(etcd) = EtcdProcess::start(&[]) else { return };
    let (settings, quorum) = (etcd.settings(), etcd.quorum());
    let log = QuorumLog::new(Arc::new(quorum), keys());
    retry(|| log.observe());
    drop(etcd);
    for quorum in [log, QuorumLog::new(Arc::new(EtcdStore::new(&settings).unwrap()), keys())] {
        let result = quorum.observe();
        assert!(matches!(result, Err(QuorumStoreError::Unanswered { .. })), "{result:?}");
    }
}

#[test]
fn rounds_pause_while_etcd_is_full() {
    let Some(etcd) = EtcdProcess::start(&["--quota-backend-bytes", "1000000"]) else { return };
    let quorum = etcd.quorum();
    retry(|| quorum.call(&QuorumRequest::Members));
    let write = transaction(Vec::new(), vec![put("a", &vec![0; PART_SIZE])]);
    let is_full = || matches!(quorum.call(&write), Err(QuorumStoreError::NoSpace { .. }));
    assert!((0..10).any(|_| is_full()), "the quota is smaller than a part");
    let started = Instant::now();
    assert!((0..4).all(|_| is_full()));
    assert!(started.elapsed() >= Duration::from_millis(200), "{:?}", started.elapsed());
    let findings = check_members(&quorum).unwrap().findings;
    let alarms: Vec<_> = findings.iter().filter(|finding| finding.code() == "alarm").collect();
    assert!(matches!(*alarms, [QuorumFinding::Alarm { alarm, .. }] if alarm == "NOSPACE"), "{alarms:?}");
}

/// Creates an authority and a certificate for 127.0.0.1 that it signed; `false` if openssl is not installed.
fn create_certificates(folder: &Path) -> bool {
    let new_key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    std::fs::write(folder.join("extensions"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    for command in [
        format!("req -x509 {new_key} -keyout ca.key -out ca.pem -subj /CN=ca -days 1"),
        format!("req {new_key} -keyout node.key -out node.csr -subj /CN=node"),
        "x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out node.pem -days 1 -extfile extensions"
            .to_owned(),
    ] {
        let Ok(output) = Command::new("openssl").current_dir(folder).args(command.split(' ')).output() else {
            println!("skipped: openssl is not installed");
            return false;
        };
        assert!(output.status.success(), "{output:?}");
    }
    true
}

#[test]
fn connection_with_tls_verifies_both_certificates() {
    let folder = tempfile::tempdir().unwrap();
    if !create_certificates(folder.path()) {
        return;
    }
    let path = |name: &str| folder.path().join(name);
    let files = ["node.pem", "node.key", "ca.pem"].map(|name| path(name).to_str().unwrap().to_owned());
    let [certificate, key, authority] = files.each_ref();
    let flags =
        ["--cert-file", certificate, "--key-file", key, "--client-cert-auth", "--trusted-ca-file", authority];
    let Some(etcd) = EtcdProcess::start(&flags) else { return };
    let client = EtcdClientCertificate { certificate_file: path("node.pem"), key_file: path("node.key") };
    let quorum = |ca_file, client| {
        EtcdStore::new(&EtcdSettings { tls: Some(EtcdTls { ca_file, client }), ..etcd.settings() })
    };
    let error = quorum("/missing/ca.pem".into(), None).err().unwrap().to_string();
    assert!(error.contains("/missing/ca.pem"), "{error}");
    let valid = quorum(path("ca.pem"), Some(client)).unwrap().with_attempt_timeout(PATIENCE);
    retry(|| valid.call(&QuorumRequest::Members));
    for other in [quorum(path("ca.pem"), None).unwrap(), etcd.quorum()] {
        let result = other.call(&QuorumRequest::Members);
        assert!(matches!(result, Err(QuorumStoreError::Unanswered { .. })), "{result:?}");
    }
}

#[test]
fn expired_token_is_renewed() {
    let Some(etcd) = EtcdProcess::start(&["--auth-token-ttl", "1"]) else { return };
    if Command::new("etcdctl").arg("version").output().is_err() {
        println!("skipped: etcdctl is not installed");
        return;
    }
    retry(|| etcd.quorum().call(&QuorumRequest::Members));
    let endpoint = format!("127.0.0.1:{}", etcd.port);
    for command in ["user add root:secret", "user grant-role root root", "auth enable"] {
        let mut etcdctl = Command::new("etcdctl");
        etcdctl.env("ETCDCTL_API", "3").args(["--endpoints", &endpoint]).args(command.split(' '));
        let output = etcdctl.output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "secret\n").unwrap();
    let user = EtcdUser { name: "root".to_owned(), password_file: file.path().to_owned() };
    let quorum = EtcdStore::new(&EtcdSettings { user: Some(user), ..etcd.settings() });
    let log = QuorumLog::new(Arc::new(quorum.unwrap()), keys());
    retry(|| log.observe());
    let anonymous = QuorumLog::new(Arc::new(etcd.quorum()), keys());
    assert!(matches!(anonymous.observe(), Err(QuorumStoreError::Rejected { .. })));
    // Disabling and enabling authentication makes every token invalid.
    for command in ["--user root:secret auth disable", "auth enable"] {
        let mut etcdctl = Command::new("etcdctl");
        etcdctl.env("ETCDCTL_API", "3").args(["--endpoints", &endpoint]).args(command.split(' '));
        assert!(etcdctl.output().unwrap().status.success(), "{command}");
    }
    let observed = log.observe();
    assert!(observed.is_ok() || observed.as_ref().is_err_and(QuorumStoreError::is_transient), "{observed:?}");
    retry(|| log.observe());
    std::fs::write(file.path(), "wrong").unwrap();
    let quorum = EtcdStore::new(&EtcdSettings {
        user: Some(EtcdUser { name: "root".to_owned(), password_file: file.path().to_owned() }),
        ..etcd.settings()
    });
    let rejected = QuorumLog::new(Arc::new(quorum.unwrap()), keys()).observe();
    assert!(matches!(rejected, Err(QuorumStoreError::Rejected { .. })), "{rejected:?}");
}
