//! Connections that end at every byte of a small exchange.

use rand::{SeedableRng, rngs::StdRng};
use serde::Serialize;

use crate::{
    action::{Action, Setup},
    feed::explain,
    follower::{Follower, SubmissionOutcome},
    ledger::Check,
    network_event::NetworkEvent,
    pipe::{Pipe, frames},
    run::Run,
    submission_kind::SubmissionKind,
};

/// Kind of a frame that contains a submission.
const SUBMIT: u8 = 4;

/// Counts of the connections that were cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CutCounts {
    /// Size of the exchange in bytes, down to the follower and (`up`) up to the sequencer.
    pub down: u64,
    pub up: u64,
    /// Number of connections that were cut. After each cut on the way down, the follower caught up.
    pub connections: u64,
}

fn submit(sender: usize) -> Action {
    Action::Submit { submission: SubmissionKind::Next, sender, chance: 6 }
}

fn run() -> Result<Run, String> {
    let mut run = Run::new(Setup {
        seed: 0,
        development: false,
        block_time: 1,
        segment_bytes: 1 << 20,
        retention: 100,
        recent: 1,
        backlog: 50_000,
        followers: 1,
        ring: 60,
    })?;
    // A follower starts from the store, which then stays behind the chain.
    run.apply(&Action::WriteStore)?;
    [submit(0), Action::Tick { ms: 200 }, submit(1)].iter().try_for_each(|act| run.apply(act))?;
    Ok(run)
}

/// Runs rounds in which every thread runs as long as it has work.
fn rounds(run: &mut Run) -> Check {
    let mut random = StdRng::seed_from_u64(1);
    (0..6).try_for_each(|_| run.feed_round(&mut random, true))
}

/// Ends a connection at every byte that either side sends in a small exchange. Tests only one byte in
/// `stride`, starting with `first`.
///
/// # Errors
/// Returns the violated property.
pub fn every_cut(first: usize, stride: usize) -> Result<CutCounts, String> {
    let mut run = run()?;
    let (up, hash) = exchange(&mut run)?;
    let mut done = CutCounts { up: up.len() as u64, ..CutCounts::default() };
    for at in (first..=up.len()).step_by(stride) {
        cut_up(&run, &up[..at], hash).map_err(|what| format!("cut at byte {at} up: {what}"))?;
        done.connections += 1;
    }
    let (down, raw) = heard(&mut run)?;
    done.down = down.len() as u64;
    for at in (first..=down.len()).step_by(stride) {
        cut_down(&mut run, &down[..at], &raw).map_err(|what| format!("cut at byte {at} down: {what}"))?;
        done.connections += 1;
    }
    Ok(done)
}

/// Returns the bytes that a follower sends to submit a transaction, and the hash of the transaction. The
/// sequencer receives none of them.
fn exchange(run: &mut Run) -> Result<(Vec<u8>, alloy_primitives::B256), String> {
    rounds(run)?;
    let slot = &mut run.feed.slots[0];
    let (Some(follower), Some(connection)) = (&mut slot.follower, &slot.connection) else {
        return Err("there is no connection".to_owned());
    };
    let raw = run.senders.sign(crate::senders::TransactionSpec { wallet: 2, nonce: 0, kind: 6, tip: 1 });
    let hash = follower.node.decode(&raw).map_err(|error| error.to_string())?.hash();
    follower.send(&raw, false)?;
    follower.follows.send_due(&mut connection.up.clone()).map_err(|error| error.to_string())?;
    let up = connection.up.record();
    run.feed.end(0, 0);
    Ok((up, hash))
}

/// Sends `up` and then the end of the stream to a sequencer. Checks that the submission is admitted
/// exactly if its frame is complete.
fn cut_up(run: &Run, up: &[u8], hash: alloy_primitives::B256) -> Check {
    let node = run.node()?;
    let (mut input, out) = (Pipe::from_bytes(up), Pipe::new(1));
    let complete = frames(up);
    match node.serve_manual(&mut input, Box::new(out)) {
        Ok(mut serves) => {
            serves.run_once()?;
            while serves.receive(&mut input) {}
            let turned = (0..9).find_map(|_| serves.run_once().err());
            if turned.is_none() {
                return Err("a follower that has gone is served".to_owned());
            }
        }
        Err(_) if complete.is_empty() => {}
        Err(why) => return Err(why),
    }
    let wanted = complete.iter().any(|&(start, _)| up[start + 4] == SUBMIT);
    if node.pool().contains(&hash) == wanted {
        Ok(())
    } else {
        Err(format!("its submission came whole: {wanted}, it is in the pool: {}", !wanted))
    }
}

/// Returns the bytes that a follower receives while it catches up, submits a transaction and follows some
/// steps. Also returns the raw transaction.
fn heard(run: &mut Run) -> Result<(Vec<u8>, alloy_primitives::Bytes), String> {
    rounds(run)?;
    let sends = NetworkEvent::Submit { at: 0, submission: SubmissionKind::Next, sender: 0, chance: 6 };
    run.apply(&Action::Network(sends))?;
    let next = run.senders.accepted_count();
    rounds(run)?;
    let raw = run.senders.any_accepted(next).cloned().ok_or("the submission is not answered")?;
    for act in [Action::Tick { ms: 200 }, submit(1), Action::Tick { ms: 1_000 }] {
        run.apply(&act)?;
        rounds(run)?;
    }
    let connection = run.feed.slots[0].connection.as_ref().ok_or("there is no connection")?;
    Ok((connection.down.record(), raw))
}

/// Sends `down` and then the end of the stream to a follower. Checks that the follower catches up over
/// another connection.
fn cut_down(run: &mut Run, down: &[u8], raw: &alloy_primitives::Bytes) -> Check {
    run.feed.end(0, 0);
    run.with_followers(|feed, world| feed.begin(0, world))?;
    let published = run.feed.published.clone();
    let follower = run.feed.slots[0].follower.as_mut().ok_or("there is no follower")?;
    follower.follows.greet().map_err(|error| error.to_string())?;
    let (mut input, mut sent) = (Pipe::from_bytes(down), false);
    loop {
        let heard = follower.receive(&mut input, true)?.ok_or("a panic")?;
        follower.poll(&published)?;
        answered(follower)?;
        if let Err(why) = heard {
            explain(&why, false, false)?;
            break;
        }
        if follower.follows.is_live() && !sent {
            sent = follower.send(raw, false)?;
        }
    }
    answered(follower)?;
    run.come_level()
}

/// Checks that no submission is rejected: each is accepted, or its outcome is unknown, or it was never sent.
fn answered(follower: &mut Follower) -> Check {
    for (_, what) in follower.answers(true)? {
        if matches!(what, SubmissionOutcome::Rejected) {
            return Err("a submission is refused".to_owned());
        }
    }
    Ok(())
}
