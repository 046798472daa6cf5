//! A restart of the node while events are watched.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::flows::{Outcome, variable};

/// Time in which a library may connect again.
const RECONNECT: Duration = Duration::from_secs(15);
const STAGES: [&str; 4] = ["before", "right after", "later", "later"];

/// Restarts the node, and waits until it is ready.
async fn restart_node() -> Outcome<()> {
    let file = PathBuf::from(variable("LIBRARY_RESTART"));
    fs::write(&file, "")?;
    while file.exists() {
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Sends one transaction with an event before a restart, one right after it, two later; checks that each is heard.
///
/// `send` returns the hash of a submitted transaction, `poll` those of the events since the last call.
pub async fn watch_restart(
    send: impl AsyncFn(u64) -> Outcome<String>,
    mut poll: impl FnMut() -> Vec<String>,
) -> Outcome<()> {
    let (mut sent, mut heard) = (Vec::new(), HashMap::<String, usize>::new());
    for (index, stage) in STAGES.iter().enumerate() {
        let hash = send(index as u64).await;
        sent.push(hash.map_err(|error| format!("transaction {stage} the restart: {error}"))?);
        if index == 1 {
            sleep(RECONNECT).await;
        }
        let deadline = Instant::now() + RECONNECT;
        while index != 2 && !sent.iter().all(|hash| heard.contains_key(hash)) && Instant::now() < deadline {
            sleep(Duration::from_millis(100)).await;
            poll().into_iter().for_each(|hash| *heard.entry(hash).or_default() += 1);
        }
        if index == 0 {
            restart_node().await?;
        }
    }
    let is_heard = |index: &usize| heard.contains_key(&sent[*index]);
    let count = |range: std::ops::Range<usize>| range.filter(is_heard).count();
    let repeated: usize = heard.values().map(|times| times - 1).sum();
    if repeated > 0 || count(0..4) < 4 {
        let (before, after, later) = (count(0..1), count(1..2), count(2..4));
        let counts = format!("{before} of 1 before, {after} of 1 right after, {later} of 2 later");
        return Err(format!("heard {counts}, and {repeated} again").into());
    }
    Ok(())
}
