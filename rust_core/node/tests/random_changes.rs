//! All changes of a chain in random order, with restarts in between: a replay gives what was shown.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;

use foreseal_chain::{Chain, datadir::stored_spec, replay};
use foreseal_journal::{Identity, JournalOptions, LocalJournal};
use proptest::prelude::*;
use support::actions::{Act, Run, act, shown};

/// Replays the journal into a new chain.
fn replayed(run: &mut Run) -> Chain {
    let view = run.bench().view();
    let identity =
        Identity { chain_id: view.spec().chain_id(), genesis: view.sealed(0).unwrap().unwrap().block.hash };
    let spec = Arc::new(stored_spec(&run.settings.datadir).unwrap().unwrap());
    let mut chain = Chain::new(spec, run.settings.finality);
    let options = JournalOptions { identity, segment_bytes: 1 << 20, entropy: [0; 32] };
    let folder = run.settings.datadir.join("journal");
    let (journal, _) = LocalJournal::open(&folder, Arc::new(run.disk.clone()), options).unwrap();
    for append in journal.replay().unwrap() {
        for record in append.unwrap().records {
            replay(&mut chain, 0, &record).unwrap();
        }
    }
    chain
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Invariant 6: replaying the whole journal gives identical headers, for all changes of a development
    /// chain.
    #[test]
    fn a_replay_reproduces_the_shown_chain(small: bool, acts in prop::collection::vec(act(), 1..60)) {
        let datadir = tempfile::tempdir().unwrap();
        let mut run = Run::new(datadir.path(), small);
        for act in &acts {
            let before = run.bench().view();
            run.act(act);
            let after = run.bench().view();
            // A step builds on the one before it, and a seal keeps the pending block. Without interval mining
            // an empty block may be opened again.
            let number = before.pending().number();
            if matches!(act, Act::Tick { .. }) && before.pending_index() > 0 && after.pending().number() > number {
                let sealed = after.sealed(number).unwrap().unwrap();
                prop_assert!(sealed.steps.len() >= before.pending().steps.len());
                for (old, new) in before.pending().steps.iter().zip(&sealed.steps) {
                    prop_assert_eq!(old.hash, new.hash);
                }
            }
        }
        let view = run.bench().view();
        let replayed = replayed(&mut run);
        prop_assert_eq!(shown(&replayed.view().unwrap()), shown(&view));
        let offset = run.bench().node.control(|writer| Ok(writer.clock_offset())).unwrap();
        prop_assert_eq!(replayed.clock_offset(), offset);
    }
}
