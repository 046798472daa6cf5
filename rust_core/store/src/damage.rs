//! Damage that one process found, for another process that has the same store open.

use crate::{
    error::StoreError,
    pages::{PageFault, PageWalker},
    store::Store,
};
use serde::{Deserialize, Serialize};

/// Damage of the store, as one process reports it to another.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct DamageReport {
    pub table: String,
    pub key: Vec<u8>,
    /// Page whose checksum is wrong; `None` if entries are inconsistent.
    pub page: Option<u64>,
    /// The error message.
    pub reason: String,
}

/// Attempts to read a page whose checksum is wrong: a commit may be writing it at the moment.
const ATTEMPTS: u32 = 3;

impl Store {
    /// Returns the first damage that was found, for another process that has the same store open.
    pub fn damage_report(&self) -> Option<DamageReport> {
        let error = self.damage()?;
        let (table, key, page) = match error {
            StoreError::DamagedPage { table, key, page } => (*table, key.clone(), Some(*page)),
            StoreError::Damaged { table, key, .. } => (*table, key.clone(), None),
            _ => ("", Vec::new(), None),
        };
        Some(DamageReport { table: table.to_owned(), key, page, reason: error.to_string() })
    }

    /// Reads the page that another process reports as damaged. Unless it proves intact, records the damage:
    /// see [`Self::damage`]. Returns `true` if it was recorded.
    pub fn confirm_damage(&self, report: &DamageReport) -> bool {
        let sound = |page| (0..ATTEMPTS).any(|_| self.has_sound_page(page).unwrap_or(false));
        if report.page.is_some_and(sound) {
            return false;
        }
        let table = PageFault::table_named(&report.table);
        self.record_damage(&match report.page {
            Some(page) => StoreError::DamagedPage { table, key: report.key.clone(), page },
            None => StoreError::State(report.reason.replacen("store is damaged: ", "", 1)),
        });
        true
    }

    fn has_sound_page(&self, page: u64) -> Result<bool, StoreError> {
        PageWalker::begin(self.env())?.is_sound(page)
    }
}
