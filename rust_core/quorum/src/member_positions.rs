//! Positions of the registered members, as far as the retention respects them.

use std::{collections::HashMap, time::Duration};

use crate::{member_entry::MemberEntry, run_id::RunId};

/// Time without an update of its entry after which a member counts as gone. Members update it every few seconds.
const MAX_MEMBER_SILENCE: Duration = Duration::from_mins(10);

/// Entries of the members with the time at which each one changed by this process's clock, because the clocks of
/// other machines are not compared.
#[derive(Debug, Default)]
pub(crate) struct MemberPositions {
    entries: HashMap<String, SeenEntry>,
}

#[derive(Debug)]
struct SeenEntry {
    entry: MemberEntry,
    /// Monotonic time at which the entry was first seen as it is.
    since: Duration,
}

impl MemberPositions {
    /// Accepts the entries as read at the monotonic time `now`. Returns the first append that each member lacks,
    /// without this process and the members that no longer update their entries.
    pub fn update(&mut self, members: Vec<MemberEntry>, own: RunId, now: Duration) -> Vec<u64> {
        let mut before = std::mem::take(&mut self.entries);
        for entry in members.into_iter().filter(|entry| entry.run_id != own) {
            let name = entry.key_name();
            let since =
                before.remove(&name).filter(|seen| seen.entry == entry).map_or(now, |seen| seen.since);
            self.entries.insert(name, SeenEntry { entry, since });
        }
        let current =
            self.entries.values().filter(|seen| now.saturating_sub(seen.since) < MAX_MEMBER_SILENCE);
        current.map(|seen| seen.entry.next).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: RunId = RunId([9; 16]);

    #[test]
    fn member_that_updates_its_entry_is_respected() {
        let mut positions = MemberPositions::default();
        for minute in 0..60 {
            // Its position does not change, but its time does.
            let members = vec![MemberEntry::standby(1, 5, minute), MemberEntry::standby(9, 0, 0)];
            let now = Duration::from_mins(minute);
            assert_eq!(positions.update(members, OWN, now), [5], "the own entry is ignored");
        }
    }

    #[test]
    fn member_without_updates_is_ignored_until_it_returns() {
        let mut positions = MemberPositions::default();
        let mut update = |minute, updated| {
            positions.update(vec![MemberEntry::standby(1, 5, updated)], OWN, Duration::from_mins(minute))
        };
        assert_eq!(update(0, 7), [5]);
        assert_eq!(update(9, 7), [5]);
        assert!(update(10, 7).is_empty());
        assert_eq!(update(11, 8), [5]);
    }
}
