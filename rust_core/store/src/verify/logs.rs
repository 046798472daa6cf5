//! Comparison of the log index with the logs.

use alloy_primitives::Log;

use super::{Verifier, fault, report::StorePart};
use crate::{error::StoreError, log_index::LogIndexError};

impl Verifier<'_> {
    pub(super) fn log_index(&mut self) -> Result<(), StoreError> {
        let tables = *self.reader.store().tables();
        let index = tables.log_index();
        let (mut first, mut accounted) = (0, 0);
        loop {
            let reader = self.reader.clone();
            let (checked, of) = reader.read(|read_txn, progress| {
                let count = progress.logs.saturating_sub(first).min(index.portion());
                let logs = read_txn.logs(first, count).map(|logs| logs.into_iter().map(|stored| stored.log));
                let checked = match logs {
                    Ok(logs) => index.check_portion(read_txn.txn, first, &logs.collect::<Vec<Log>>()),
                    Err(error) => return Ok((Err(error), progress.logs)),
                };
                // The last portion ends the check. Its transaction counts the
                // chunks, so that no later log is included.
                let end = (count < index.portion()).then(|| index.entries(read_txn.txn)).transpose()?;
                Ok((Ok((checked, end)), progress.logs))
            })?;
            let Some((checked, end)) = self.sound(checked)? else {
                first += index.portion();
                if first >= of {
                    return Ok(());
                }
                continue;
            };
            match checked {
                Ok(chunks) => accounted += chunks,
                Err(LogIndexError::Lmdb(error)) => return Err(error.into()),
                Err(error) => self.fault(fault(&tables.log_index, &[], error.to_string())),
            }
            self.done(StorePart::Logs, first.saturating_add(index.portion()).min(of), of)?;
            if let Some(entries) = end {
                if entries != accounted {
                    let why = format!("it has {entries} chunks, the logs account for {accounted}");
                    self.fault(fault(&tables.log_index, &[], why));
                }
                return Ok(());
            }
            first += index.portion();
        }
    }
}
