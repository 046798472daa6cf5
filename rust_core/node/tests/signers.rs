//! The single signer of a data directory, and the checksums of its files.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use alloy_primitives::Address;
use foreseal_chain::datadir::DirIdentity;
use foreseal_node::{KeyError, Node, NodeError, Settings};
use foreseal_replication::PoolStart;
use foreseal_testkit::{Fees, Wallet};
use support::{Bench, open_node, settings};

fn signer(node: &Node) -> Address {
    node.status().signer.unwrap()
}

fn put_key(datadir: &Path, text: &[u8]) {
    let path = datadir.join("sequencer.key");
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn rejection(settings: Settings) -> KeyError {
    match open_node(settings) {
        Err(NodeError::Key(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it opens"),
    }
}

/// Creates a data directory with some signed blocks in the store.
fn made() -> (tempfile::TempDir, Vec<Wallet>, Address) {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut bench = Bench::new(folder.path(), &wallets);
    let address = signer(&bench.node);
    for nonce in 0..2 {
        bench.node.submit(&wallets[0].transfer(nonce, wallets[0].address, 1, Fees::default())).unwrap();
        bench.tick();
        bench.seal();
    }
    bench.node.drain().unwrap();
    (folder, wallets, address)
}

#[test]
fn a_missing_or_changed_key_needs_a_new_signer_request() {
    let (folder, wallets, before) = made();
    let datadir = folder.path();
    let settings = || settings(datadir, &wallets);
    fs::remove_file(datadir.join("sequencer.key")).unwrap();
    let error = rejection(settings());
    assert!(matches!(error, KeyError::Missing { signer, .. } if signer == before), "{error}");
    assert!(error.to_string().contains("--new-sequencer-key"), "{error}");
    assert!(!datadir.join("sequencer.key").exists(), "none is made");

    put_key(datadir, &[b'2'; 64]);
    let error = rejection(settings());
    let text = error.to_string();
    let KeyError::OtherSigner { found: new_signer, expected, .. } = error else { panic!("{text}") };
    assert_eq!(expected, before);
    assert!(text.contains(&new_signer.to_string()) && text.contains(&before.to_string()), "{text}");
    // A node that does not produce needs no key, and changes nothing.
    drop(open_node(Settings { produce: false, ..settings() }).unwrap());
    rejection(settings());

    let node = open_node(Settings { new_sequencer_key: true, ..settings() }).unwrap();
    assert_eq!(signer(&node), new_signer);
    drop(node);
    let identity = DirIdentity::read(datadir).unwrap().unwrap();
    let signers: Vec<_> =
        identity.signers.iter().map(|signer| (signer.address, signer.first_block)).collect();
    assert_eq!(signers, [(before, 0), (new_signer, 3)]);
    assert_eq!(signer(&open_node(settings()).unwrap()), new_signer, "from now on");
    put_key(datadir, &[b'1'; 64]);
    assert!(matches!(rejection(settings()), KeyError::OtherSigner { .. }), "the one before is none any more");
}

/// The directory of a replica records no signer, and an imported chain has no identity.
#[test]
fn a_signer_that_is_not_recorded_comes_from_the_steps() {
    let (folder, wallets, before) = made();
    let datadir = folder.path();
    let settings = || settings(datadir, &wallets);
    let own = fs::read(datadir.join("sequencer.key")).unwrap();
    // First from the store, then from the journal alone.
    for journal_alone in [false, true] {
        let identity = DirIdentity::read(datadir).unwrap().unwrap();
        if journal_alone {
            fs::remove_file(datadir.join("identity.json")).unwrap();
            fs::remove_dir_all(datadir.join("store")).unwrap();
        } else {
            DirIdentity { signers: Vec::new(), ..identity }.write(datadir).unwrap();
        }
        put_key(datadir, &[b'2'; 64]);
        assert!(
            matches!(rejection(settings()), KeyError::OtherSigner { expected, .. } if expected == before)
        );
        fs::remove_file(datadir.join("sequencer.key")).unwrap();
        assert!(matches!(rejection(settings()), KeyError::Missing { signer, .. } if signer == before));
        put_key(datadir, &own);
        assert_eq!(signer(&open_node(settings()).unwrap()), before);
        assert_eq!(DirIdentity::read(datadir).unwrap().unwrap().signer(), Some(before));
    }
}

/// Flipped bits in the small files are reported with file and offset.
#[test]
fn a_changed_bit_of_identity_or_genesis_is_named() {
    let (folder, wallets, _) = made();
    let datadir = folder.path();
    for name in ["identity.json", "genesis.json"] {
        let path = datadir.join(name);
        let content = fs::read(&path).unwrap();
        for at in (0..content.len()).step_by(7) {
            let mut changed = content.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&path, changed).unwrap();
            let error = open_node(settings(datadir, &wallets)).err().expect("refused").to_string();
            let prefix = format!("{} is damaged: one bit is flipped at offset {at}", path.display());
            assert!(error.starts_with(&prefix), "{error}");
        }
        fs::write(&path, content).unwrap();
    }
    open_node(settings(datadir, &wallets)).unwrap();
}

#[test]
fn a_changed_bit_of_the_key_is_named() {
    let (folder, wallets, before) = made();
    let path = folder.path().join("sequencer.key");
    let content = fs::read(&path).unwrap();
    for bit in 0..content.len() * 8 {
        let mut changed = content.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, changed).unwrap();
        match open_node(settings(folder.path(), &wallets)) {
            Ok(node) => assert_eq!(signer(&node), before, "the same key, spelled otherwise"),
            Err(error) => assert!(error.to_string().contains("sequencer.key"), "{error}"),
        }
    }
}

#[test]
fn a_changed_bit_of_the_saved_pool_discards_it() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let serving = || Settings { produce: false, ..settings(folder.path(), &wallets) };
    let node = open_node(serving()).unwrap();
    node.start_stepped().unwrap();
    node.submit(&wallets[0].transfer(0, wallets[1].address, 7, Fees::default())).unwrap();
    node.save().unwrap();
    drop(node);
    let path = folder.path().join("pool.bin");
    let content = fs::read(&path).unwrap();
    for at in (0..content.len()).step_by(5) {
        let mut changed = content.clone();
        changed[at] ^= 1 << (at % 8);
        fs::write(&path, changed).unwrap();
        let node = open_node(serving()).unwrap();
        node.start_stepped().unwrap();
        assert_eq!(node.pool().counts().pooled, 0, "byte {at}");
        assert_eq!(node.status().pool_start, PoolStart::LostInCrash);
    }
}

/// The files are as after a kill between the record of the signer and the renaming of its key.
#[test]
fn a_new_signer_that_is_recorded_finds_its_key() {
    let (folder, wallets, _) = made();
    let datadir = folder.path();
    let settings = || settings(datadir, &wallets);
    fs::remove_file(datadir.join("sequencer.key")).unwrap();
    let node = open_node(Settings { new_sequencer_key: true, ..settings() }).unwrap();
    let recorded = DirIdentity::read(datadir).unwrap().unwrap().signer();
    assert_eq!(recorded, node.status().signer);
    drop(node);
    fs::rename(datadir.join("sequencer.key"), datadir.join("sequencer.new")).unwrap();
    let node = open_node(settings()).unwrap();
    assert_eq!(node.status().signer, recorded);
    assert!(datadir.join("sequencer.key").exists());
    drop(node);
    // A draft key of another signer is ignored.
    fs::remove_file(datadir.join("sequencer.key")).unwrap();
    put_key(datadir, &[b'3'; 64]);
    fs::rename(datadir.join("sequencer.key"), datadir.join("sequencer.new")).unwrap();
    assert!(matches!(rejection(settings()), KeyError::Missing { .. }));
}
