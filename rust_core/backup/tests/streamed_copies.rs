//! Copies of a data directory over a stream: round trips, and streams that are cut, damaged or forged.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    fs,
    io::{self, Write},
    ops::ControlFlow,
    path::Path,
    time::Duration,
};

use foreseal_backup::{
    BackupError, CopyRate, CopyTarget, Manifest, back_up, receive_copy, restore, send_copy,
};
use foreseal_chain::{
    SteppedClock,
    datadir::{CopiedComponent, CopyProgress, checked_file},
};
use foreseal_journal::Identity;
use proptest::prelude::*;
use support::{CHUNK, END, FAILED, FILE, FILE_END, MANIFEST, START, Sender, frame, frames};

const MAP_SIZE: usize = 1 << 30;
/// Offset of the kind in the header of a frame.
const KIND: usize = 4;

fn target(datadir: &Path) -> CopyTarget<'_> {
    CopyTarget { datadir, map_size: MAP_SIZE, identity: None }
}

fn receive(mut stream: &[u8], datadir: &Path) -> Result<Manifest, BackupError> {
    receive_copy(&mut stream, &target(datadir), &mut |_| ControlFlow::Continue(()))
}

/// Returns the error of receiving `stream`, and asserts that nothing but the lock remains.
fn rejection(stream: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let datadir = folder.path().join("new");
    let error = receive(stream, &datadir).unwrap_err().to_string();
    let left = |path: &Path| -> Vec<_> {
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert!(left(&datadir).iter().all(|name| name == "LOCK"), "{:?}: {error}", left(&datadir));
    assert_eq!(left(folder.path()), ["new"], "{error}");
    error
}

fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for name in ["", "store", "journal"] {
        for entry in fs::read_dir(folder.join(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && !path.ends_with("LOCK") {
                files.push((
                    path.strip_prefix(folder).unwrap().display().to_string(),
                    fs::read(&path).unwrap(),
                ));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_streamed_copy_has_the_files_of_a_backup() {
    let (sender, folder) = (Sender::new(), tempfile::tempdir().unwrap());
    let (backup, restored, received) =
        (folder.path().join("backup"), folder.path().join("restored"), folder.path().join("received"));
    let go_on = |_: CopyProgress| ControlFlow::Continue(());
    let made = back_up(&sender.source(false), &backup, Duration::ZERO, &mut { go_on }).unwrap();
    restore(&backup, &restored, MAP_SIZE, &mut { go_on }).unwrap();
    let (stream, summary) = sender.stream();
    assert_eq!(summary.bytes, made.files.iter().map(|file| file.bytes).sum::<u64>());
    let manifest = receive(&stream, &received).unwrap();
    assert_eq!(manifest, summary.manifest);
    assert_eq!(manifest, Manifest { time: manifest.time, ..made });
    assert_eq!(content(&received), content(&restored));
    assert!(manifest.files.iter().filter(|file| file.path.starts_with("journal/")).count() > 1);
}

#[test]
fn the_signing_key_is_never_sent() {
    let sender = Sender::new();
    let key = b"secret".repeat(20);
    fs::write(sender.datadir().join("sequencer.key"), &key).unwrap();
    let (stream, summary) = support::send(&sender.source(true));
    assert!(summary.manifest.files.iter().all(|file| file.path != "sequencer.key"));
    assert!(stream.windows(key.len()).all(|bytes| bytes != key));
    // A sender that sends one is rejected.
    let mut forged = frames(&stream);
    forged.insert(1, (FILE, b"sequencer.key".to_vec()));
    let error = rejection(&support::join(&forged));
    assert!(error.contains("sequencer.key: unexpected file"), "{error}");
}

#[test]
fn a_stream_cut_at_any_frame_leaves_nothing() {
    let (stream, _) = Sender::new().stream();
    let folder = tempfile::tempdir().unwrap();
    let datadir = folder.path().join("new");
    let mut cuts = vec![0, 5, 8];
    let mut at = 8;
    for (_, body) in frames(&stream) {
        cuts.extend([at + 4, at + 9, at + 9 + body.len() / 2]);
        at += 9 + body.len();
        cuts.push(at);
    }
    assert_eq!(cuts.pop(), Some(stream.len()));
    for cut in cuts.into_iter().filter(|cut| *cut < stream.len()) {
        let error = receive(&stream[..cut], &datadir).unwrap_err();
        assert!(matches!(error, BackupError::Stream { .. }), "{cut}: {error}");
        assert_eq!(
            error.to_string(),
            "the snapshot was interrupted: the connection ended before the snapshot was complete: start it again"
        );
        assert!(!datadir.join("genesis.json").exists() && !datadir.join("restoring").exists());
    }
    // An attempt that was killed leaves its draft; the next one starts over.
    fs::create_dir_all(datadir.join("restoring/store")).unwrap();
    fs::write(datadir.join("restoring/store/data.mdb"), b"half").unwrap();
    receive(&stream, &datadir).unwrap();
    assert!(!datadir.join("restoring").exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_changed_byte_is_detected(at in any::<prop::sample::Index>(), change in 1..=u8::MAX) {
        let (mut stream, _) = support::shared_stream();
        let at = at.index(stream.len());
        stream[at] ^= change;
        rejection(&stream);
    }

    #[test]
    fn missing_repeated_and_swapped_frames_are_detected(
        index in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        change in 0..3,
    ) {
        let (stream, _) = support::shared_stream();
        let mut changed = frames(&stream);
        let (at, other) = (index.index(changed.len() - 1), other.index(changed.len() - 1));
        match change {
            0 => drop(changed.remove(at)),
            1 => changed.insert(other, changed[at].clone()),
            _ => changed.swap(at, other),
        }
        prop_assume!(support::join(&changed) != stream);
        // Swapped segments are the same files in another order, which the manifest lists in the sender's order.
        rejection(&support::join(&changed));
    }

    #[test]
    fn any_bytes_are_rejected(bytes in prop::collection::vec(any::<u8>(), 0..200), prefix in any::<bool>()) {
        let stream = if prefix { [b"FSEALSN1".as_slice(), &bytes].concat() } else { bytes };
        rejection(&stream);
    }
}

#[test]
fn paths_outside_the_folder_are_rejected() {
    let (stream, _) = Sender::new().stream();
    let long = "journal/".to_owned() + &"1".repeat(300) + ".segment";
    for path in [
        "../genesis.json",
        "/etc/passwd",
        "store/../../x",
        "journal/../../0000000001.segment",
        "journal/0000000001.segment/..",
        "store/lock.mdb",
        "MANIFEST.json",
        "LOCK",
        "",
        "\0",
        "journal/000000000\u{661}.segment",
        &long,
    ] {
        let mut forged = frames(&stream);
        forged[1].1 = path.as_bytes().to_vec();
        let error = rejection(&support::join(&forged));
        assert!(
            error.contains("unexpected file") || error.contains("has 316 bytes, at most 256"),
            "{path}: {error}"
        );
    }
}

#[test]
fn announced_lengths_are_checked_before_memory_is_used() {
    for (kind, limit) in [(START, 4_096), (FILE, 256), (CHUNK, 1 << 20), (MANIFEST, 64 << 20), (END, 0)] {
        let mut bad = frame(kind, b"");
        bad[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        let error = rejection(&[b"FSEALSN1".as_slice(), &bad].concat());
        assert!(
            error.ends_with(&format!("has 4294967295 bytes, at most {limit}: fetch it again")),
            "{error}"
        );
    }
    let mut unknown = frame(START, b"");
    unknown[KIND] = 77;
    let error = rejection(&[b"FSEALSN1".as_slice(), &unknown].concat());
    assert!(error.contains("a frame has the unknown kind 77"), "{error}");
}

type ManifestChange = fn(&mut Manifest);

/// Returns the stream with a change to the manifest's JSON, whose checksum is valid.
fn with_manifest(stream: &[u8], change: impl FnOnce(&mut Manifest)) -> Vec<u8> {
    let mut changed = frames(stream);
    let at = changed.len() - 2;
    assert_eq!(changed[at].0, MANIFEST);
    let text = checked_file::unseal_json(changed[at].1.clone()).unwrap();
    let mut manifest: Manifest = serde_json::from_slice(&text).unwrap();
    change(&mut manifest);
    changed[at].1 = checked_file::seal_json(&serde_json::to_vec_pretty(&manifest).unwrap());
    support::join(&changed)
}

#[test]
fn a_manifest_that_contradicts_the_files_is_rejected() {
    let (stream, _) = Sender::new().stream();
    let changes: [(ManifestChange, &str); 7] = [
        (|m| m.files[0].bytes += 1, "does not match the received files"),
        (|m| m.files.retain(|file| file.path != "genesis.json"), "is not listed"),
        (|m| m.chain_id += 1, "does not match the received files"),
        (|m| m.journal_next += 1, "does not have the copied appends"),
        (|m| m.journal_first += 1, "does not have the copied appends"),
        (|m| m.journal_sequence += 1, "does not end where the manifest says"),
        (|m| m.version = 9, "has format 9, newer than the supported version 1"),
    ];
    for (change, why) in changes {
        let error = rejection(&with_manifest(&stream, change));
        assert!(error.contains(why), "{error}");
    }
    // A file whose hashes are those that the sender states, and that is not the store of the chain.
    let mut changed = frames(&stream);
    let end = changed.iter().position(|(kind, _)| *kind == FILE_END).unwrap();
    changed[end].1 =
        changed[end].1.clone().into_iter().map(|byte| if byte == b'1' { b'2' } else { byte }).collect();
    let error = rejection(&support::join(&changed));
    assert!(error.contains("store/data.mdb: its size or hash differs"), "{error}");
}

/// Replaces the manifest of the backup in `backup`, and returns the error of a restore.
fn restore_error(backup: &Path, manifest: &[u8]) -> String {
    fs::write(backup.join("MANIFEST.json"), manifest).unwrap();
    let restored = backup.with_file_name("restored");
    let error = restore(backup, &restored, MAP_SIZE, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(!restored.exists());
    error.to_string()
}

#[test]
fn a_backup_with_another_manifest_is_rejected() {
    let (sender, folder) = (Sender::new(), tempfile::tempdir().unwrap());
    let backup = folder.path().join("backup");
    let go_on = &mut |_: CopyProgress| ControlFlow::Continue(());
    let made = back_up(&sender.source(false), &backup, Duration::ZERO, go_on).unwrap();
    let text = |manifest: &Manifest| serde_json::to_vec_pretty(manifest).unwrap();
    let error = restore_error(&backup, &text(&made));
    assert_eq!(error, "the backup is damaged: MANIFEST.json: the checksum does not match");
    let mut outside = made.clone();
    outside.files[0].path = "../outside".to_owned();
    let error = restore_error(&backup, &checked_file::seal_json(&text(&outside)));
    assert_eq!(error, "the backup is damaged: ../outside: unexpected file");
    // Unreleased programs wrote no checksum in format 1, and one in format 2.
    let unreleased = b"{\n  \"format\": 1\n}".to_vec();
    for manifest in [checked_file::seal_json(&unreleased), unreleased] {
        let error = restore_error(&backup, &manifest);
        assert!(
            error.starts_with("the backup was written by an unreleased version of Foreseal: "),
            "{error}"
        );
    }
}

#[test]
fn another_chain_is_rejected_at_the_start() {
    let (stream, summary) = Sender::new().stream();
    let folder = tempfile::tempdir().unwrap();
    let identity = Identity { chain_id: summary.manifest.chain_id, genesis: summary.manifest.genesis };
    let expect = |identity| CopyTarget { identity: Some(identity), ..target(folder.path()) };
    let go_on = &mut |_: CopyProgress| ControlFlow::Continue(());
    let other = Identity { chain_id: 5, ..identity };
    let start = 8 + frames(&stream)[0].1.len() + 9;
    let error = receive_copy(&mut &stream[..start], &expect(other), go_on).unwrap_err();
    assert!(matches!(error, BackupError::OtherChain { .. }), "{error}");
    receive_copy(&mut stream.as_slice(), &expect(identity), go_on).unwrap();
    let error = receive(&stream, folder.path()).unwrap_err();
    assert!(matches!(error, BackupError::NotEmpty(_)), "{error}");
}

#[test]
fn the_progress_reaches_the_announced_sizes() {
    let (stream, summary) = Sender::new().stream();
    let folder = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    let mut watch = |progress| {
        seen.push(progress);
        ControlFlow::Continue(())
    };
    receive_copy(&mut stream.as_slice(), &target(folder.path()), &mut watch).unwrap();
    assert!(seen.iter().all(|progress| progress.done <= progress.of));
    let journal = |progress: &&CopyProgress| progress.part == CopiedComponent::Journal;
    let last = seen.iter().rfind(journal).unwrap();
    let bytes =
        summary.manifest.files.iter().filter(|file| file.path.starts_with("journal/")).map(|file| file.bytes);
    assert_eq!((last.done, last.of), (bytes.clone().sum(), bytes.sum()));
    let store = seen.iter().find(|progress| progress.part == CopiedComponent::Store).unwrap();
    assert!(store.of >= summary.manifest.files[0].bytes, "the size of the store is announced");
}

#[test]
fn a_cancelled_sender_names_the_reason_to_the_receiver() {
    let sender = Sender::new();
    let (clock, mut stream) = (SteppedClock::default(), Vec::new());
    let mut ended = |_| ControlFlow::Break(());
    let sent = send_copy(&sender.source(false), &mut stream, &CopyRate::unlimited(&clock), &mut ended);
    assert!(matches!(sent, Err(BackupError::Interrupted)));
    assert_eq!(frames(&stream).last().unwrap().0, FAILED);
    let error = rejection(&stream);
    assert_eq!(error, "the sender could not complete the snapshot: the backup was cancelled");
    // The receiver may cancel as well.
    let (stream, _) = sender.stream();
    let folder = tempfile::tempdir().unwrap();
    let received = receive_copy(&mut stream.as_slice(), &target(folder.path()), &mut ended);
    assert!(matches!(received, Err(BackupError::Interrupted)));
    assert!(!folder.path().join("restoring").exists());
}

/// A stream that fails after some bytes.
struct Failing {
    left: usize,
    kind: io::ErrorKind,
}

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(self.kind.into());
        }
        let length = bytes.len().min(self.left);
        self.left -= length;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_failing_stream_ends_the_sender() {
    let sender = Sender::new();
    let (stream, _) = sender.stream();
    let (clock, mut at) = (SteppedClock::default(), 8);
    let mut points = vec![0, 4];
    for (_, body) in frames(&stream) {
        points.extend([at, at + 9]);
        at += 9 + body.len();
    }
    for kind in [io::ErrorKind::BrokenPipe, io::ErrorKind::StorageFull, io::ErrorKind::TimedOut] {
        for left in points.iter().copied().filter(|left| *left + 9 < stream.len()) {
            let mut out = Failing { left, kind };
            let go_on = &mut |_: CopyProgress| ControlFlow::Continue(());
            let rate = CopyRate::unlimited(&clock);
            let error = send_copy(&sender.source(false), &mut out, &rate, go_on).unwrap_err();
            assert!(matches!(error, BackupError::Stream { .. }), "{left}: {error}");
        }
    }
    assert_eq!(sender.stream().0.len(), stream.len());
}

#[test]
fn a_target_that_cannot_be_written_is_named() {
    let (stream, _) = Sender::new().stream();
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("restoring/journal");
    let mut block = |_| {
        if journal.is_dir() {
            fs::remove_dir(&journal).unwrap();
            fs::write(&journal, b"").unwrap();
        }
        ControlFlow::Continue(())
    };
    let received = receive_copy(&mut stream.as_slice(), &target(folder.path()), &mut block);
    let error = received.unwrap_err().to_string();
    assert!(
        error.contains("cannot create") && error.contains("restoring/journal/0000000001.segment"),
        "{error}"
    );
    assert!(!folder.path().join("restoring").exists());
    receive(&stream, folder.path()).unwrap();
}
