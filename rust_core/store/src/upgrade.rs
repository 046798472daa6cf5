//! Upgrades of a store from the schema of an older program to the current one, one step at a time.
//!
//! ```text
//!   schema 1 --(step to 2)--> schema 2 --(step to 3)--> ...
//!            piece, piece, piece: one transaction each, with the position at which the next one continues
//! ```
//!
//! A step is done in pieces, so that even the largest store needs no transaction over all its data, and a
//! crash loses one piece. The first piece sets the schema, so that programs for the previous one reject the
//! store, and records that the step has begun. The last piece removes that record. In between, only a program
//! that continues the step opens the store. A newer schema adds a row to [`STEPS`]; rows are never removed.

use std::ops::ControlFlow;

use heed::{Env, RwTxn, WithoutTls};

use crate::{
    StoreError, StoreOptions,
    meta::{self, UnfinishedUpgrade, UpgradeOrigin},
    rewrite::{RewriteProgress, rewrite},
    table::Tables,
};

/// The upgrade to one schema from the previous one.
pub(crate) struct UpgradeStep {
    pub to: u32,
    /// Function for one piece of the work, which starts at `position`; empty at first.
    pub work: fn(&Tables, &mut RwTxn<'_>, position: &[u8]) -> Result<RewriteProgress, StoreError>,
}

/// All steps, oldest first.
pub(crate) const STEPS: &[UpgradeStep] = &[
    // Schema 2 records the programs that made the store; the last piece of every step adds an entry.
    UpgradeStep { to: 2, work: |_, _, _| Ok(RewriteProgress::Done) },
    // Schema 3 has a checksum in every page.
    UpgradeStep { to: 3, work: rewrite },
];

/// Progress of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpgradeProgress {
    /// The schema to which the current step leads.
    pub to: u32,
    /// Completed work of the step, in a unit that the step defines.
    pub done: u64,
    pub of: u64,
}

/// Upgrades a store of the chain that `options` names to the newest schema. An interrupted upgrade continues.
///
/// # Errors
/// Returns [`StoreError::Interrupted`] if `report` breaks off; completed pieces stay.
pub(crate) fn upgrade(
    env: &Env<WithoutTls>,
    tables: &Tables,
    options: &StoreOptions,
    steps: &[UpgradeStep],
    report: &mut dyn FnMut(UpgradeProgress) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let mut schema = meta::schema(&tables.meta, &*env.read_txn()?)?;
    for step in steps {
        if step.to != schema + 1 {
            continue;
        }
        run_step(env, tables, options, step, report)?;
        schema = step.to;
        tracing::info!(schema, "store upgraded");
    }
    Ok(())
}

fn run_step(
    env: &Env<WithoutTls>,
    tables: &Tables,
    options: &StoreOptions,
    step: &UpgradeStep,
    report: &mut dyn FnMut(UpgradeProgress) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    let (to, meta) = (step.to, &tables.meta);
    let (mut done, mut of) = (0, 1);
    loop {
        if report(UpgradeProgress { to, done, of }).is_break() {
            return Err(StoreError::Interrupted);
        }
        let mut txn = env.write_txn()?;
        let position = meta::upgrade_position(meta, &txn, to)?;
        let piece = (step.work)(tables, &mut txn, &position)?;
        match piece {
            RewriteProgress::More { position, done: so_far, of: all } => {
                meta::write_unfinished_upgrade(meta, &mut txn, &UnfinishedUpgrade { to, position })?;
                (done, of) = (so_far, all);
                txn.commit()?;
            }
            RewriteProgress::Done => {
                meta::finish_upgrade_step(meta, &mut txn, &UpgradeOrigin::now(to, options))?;
                txn.commit()?;
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use alloy_primitives::B256;
    use tempfile::tempdir;

    use super::*;
    use crate::open::open;

    const ENTRIES: u8 = 10;

    /// Writes one entry per piece.
    fn slow(tables: &Tables, txn: &mut RwTxn<'_>, position: &[u8]) -> Result<RewriteProgress, StoreError> {
        let (meta, at) = (&tables.meta, position.first().copied().unwrap_or(0));
        assert!(meta.get(txn, &[b'e', at])?.is_none(), "no piece is done twice");
        meta.put(txn, &[b'e', at], b"done")?;
        let next = at + 1;
        Ok(if next == ENTRIES {
            RewriteProgress::Done
        } else {
            RewriteProgress::More { position: vec![next], done: next.into(), of: ENTRIES.into() }
        })
    }

    fn one(tables: &Tables, txn: &mut RwTxn<'_>, _: &[u8]) -> Result<RewriteProgress, StoreError> {
        tables.meta.put(txn, b"one", b"done")?;
        Ok(RewriteProgress::Done)
    }

    const TEST_STEPS: &[UpgradeStep] = &[
        UpgradeStep { to: 3, work: |_, _, _| unreachable!("it has schema 3 by now") },
        UpgradeStep { to: 4, work: slow },
        UpgradeStep { to: 5, work: one },
    ];

    /// After an interruption at any piece, the upgrade continues there and has the same result.
    #[test]
    fn an_interrupted_upgrade_resumes() {
        for chunks in 0..=u64::from(ENTRIES) + 1 {
            let folder = tempdir().unwrap();
            let options = StoreOptions { map_size: 1 << 24, at: 5, ..StoreOptions::new(1, B256::ZERO) };
            let (env, tables) = open(folder.path(), &options, &mut |_| ControlFlow::Continue(())).unwrap();
            let meta = tables.meta;
            let mut left = chunks;
            let ended = upgrade(&env, &tables, &options, TEST_STEPS, &mut |_| {
                left = match left.checked_sub(1) {
                    Some(left) => left,
                    None => return ControlFlow::Break(()),
                };
                ControlFlow::Continue(())
            });
            let whole = chunks > u64::from(ENTRIES);
            assert_eq!(ended, if whole { Ok(()) } else { Err(StoreError::Interrupted) });
            let there = |schema| meta::schema(&meta, &env.read_txn().unwrap()).unwrap() == schema;
            assert!(there(if whole {
                5
            } else if chunks == u64::from(ENTRIES) {
                4
            } else {
                3
            }));
            if chunks > 0 && chunks < u64::from(ENTRIES) {
                // A program for schema 3 that opens the store now rejects it.
                let refused = meta::check(&meta, &env.read_txn().unwrap(), &options);
                assert_eq!(refused, Err(StoreError::NewerSchema { found: 4, supported: 3 }));
            }
            let mut versions = Vec::new();
            upgrade(&env, &tables, &options, TEST_STEPS, &mut |upgrading| {
                versions.push(upgrading.to);
                ControlFlow::Continue(())
            })
            .unwrap();
            assert!(there(5));
            assert_eq!(versions.len() as u64, u64::from(ENTRIES) + 1 - chunks);
            let txn = env.read_txn().unwrap();
            assert!((0..ENTRIES).all(|at| meta.get(&txn, &[b'e', at]).unwrap().is_some()));
            assert_eq!(meta::unfinished_upgrade(&meta, &txn).unwrap(), None);
            let schemas: Vec<_> =
                meta::origins(&meta, &txn).unwrap().iter().map(|origin| origin.schema).collect();
            assert_eq!(schemas, [3, 4, 5]);
        }
    }

    /// [`STEPS`] leads from the oldest schema to the newest without a gap.
    #[test]
    fn every_schema_has_an_upgrade_step() {
        let to: Vec<_> = STEPS.iter().map(|step| step.to).collect();
        assert_eq!(to, (2..=crate::SCHEMA).collect::<Vec<_>>());
    }
}
