//! Damage that another process reports.

use std::{fs::OpenOptions, os::unix::fs::FileExt};

use alloy_primitives::B256;
use foreseal_store::{DamageReport, Store, StoreOptions};

fn report(page: Option<u64>) -> DamageReport {
    let reason = "store is damaged: table meta, key 01: it is missing".to_owned();
    DamageReport { table: "meta".to_owned(), key: vec![1], page, reason }
}

#[test]
fn a_reported_page_is_read_before_its_damage_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions { map_size: 1 << 24, ..StoreOptions::new(1, B256::ZERO) };
    let store = Store::open(folder.path(), options).unwrap();
    let data = OpenOptions::new().read(true).write(true).open(folder.path().join("data.mdb")).unwrap();
    let pages = data.metadata().unwrap().len() / 4096;
    for page in 0..pages {
        assert!(!store.confirm_damage(&report(Some(page))), "page {page} is sound");
    }
    assert_eq!(store.damage_report(), None);
    let (page, mut byte) = (pages - 1, [0]);
    data.read_exact_at(&mut byte, page * 4096 + 100).unwrap();
    data.write_all_at(&[byte[0] ^ 1], page * 4096 + 100).unwrap();
    assert!(store.confirm_damage(&report(Some(page))));
    let recorded = store.damage_report().unwrap();
    assert_eq!((recorded.table.as_str(), recorded.page), ("meta", Some(page)));
    assert!(recorded.reason.contains("fails its checksum"), "{}", recorded.reason);
}

/// Without a page, nothing can prove that the entries are consistent after all.
#[test]
fn reported_damage_without_a_page_is_noted() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions { map_size: 1 << 24, ..StoreOptions::new(1, B256::ZERO) };
    let store = Store::open(folder.path(), options).unwrap();
    assert!(store.confirm_damage(&report(None)));
    assert_eq!(store.damage().unwrap().to_string(), report(None).reason);
}
