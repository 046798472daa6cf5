//! Rounds of the flows that each library runs, and their output: one line of JSON per round.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

const LONGEST_ERROR: usize = 400;
/// Longest pause between two events, in milliseconds.
const EVENT_MS: f64 = 2000.0;
/// Time after the last event in which none may be repeated; longer than the longest default of a polling interval.
const QUIET: Duration = Duration::from_secs(8);
const LATE: Duration = Duration::from_secs(20);

pub type Outcome<T> = Result<T, Box<dyn Error>>;
pub type Round<'a> = Pin<Box<dyn Future<Output = Outcome<()>> + 'a>>;

/// Rounds of a flow: one that is repeated, or several that run once.
pub enum Rounds<'a> {
    Repeated(Box<dyn FnMut() -> Round<'a> + 'a>),
    Once(Vec<Round<'a>>),
}

/// Returns a variable of the campaign.
pub fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} must be set"))
}

/// Returns a variable that is a number.
pub fn number(name: &str) -> u64 {
    variable(name).parse().unwrap_or_else(|_| panic!("{name} must be a number"))
}

/// Fails if the values differ.
pub fn equal<T: PartialEq + Display>(got: T, expected: T, subject: &str) -> Outcome<()> {
    if got == expected { Ok(()) } else { Err(format!("{subject} is {got}, expected {expected}").into()) }
}

/// Returns the random moments of a process.
pub fn moments() -> StdRng {
    StdRng::seed_from_u64(number("FORESEAL_SEED"))
}

/// Runs the rounds of a flow and prints a line for each.
pub async fn run(flow: &str, rounds: Outcome<Rounds<'_>>) {
    let mut moments = moments();
    let mut one = async |index: u64, round: Round<'_>| {
        sleep(Duration::from_secs_f64(moments.random::<f64>() * number("LIBRARY_BLOCK_MS") as f64 / 1000.0))
            .await;
        let limit = Duration::from_millis(number("LIBRARY_ROUND_MS"));
        let ended = timeout(limit, round).await.unwrap_or_else(|_| Err("the round did not end".into()));
        report(flow, index, ended.err());
    };
    match rounds {
        Err(error) => report(flow, 0, Some(error)),
        Ok(Rounds::Repeated(mut round)) => {
            for index in 1..=number("LIBRARY_ROUNDS") {
                one(index, round()).await;
            }
        }
        Ok(Rounds::Once(rounds)) => {
            for (index, round) in (1..).zip(rounds) {
                one(index, round).await;
            }
        }
    }
}

fn report(flow: &str, round: u64, error: Option<Box<dyn Error>>) {
    let text = error.as_ref().map(|error| {
        let words: Vec<_> = error.to_string().split_whitespace().map(str::to_owned).collect();
        words.join(" ").chars().take(LONGEST_ERROR).collect::<String>()
    });
    // The campaign recognizes a line by its first key.
    println!(
        r#"{{"flow": "{flow}", "round": {round}, "ok": {}, "error": {}}}"#,
        error.is_none(),
        json!(text)
    );
}

/// Sends transactions with one event each until enough blocks have passed; checks that each is heard once.
///
/// `send` returns the hash of a submitted transaction, `poll` those of the events since the last call.
pub async fn watch_events(
    newest: impl AsyncFn() -> Outcome<u64>,
    send: impl AsyncFn(u64) -> Outcome<String>,
    mut poll: impl FnMut() -> Vec<String>,
) -> Outcome<()> {
    let mut moments = moments();
    let end = newest().await? + number("LIBRARY_WATCHED_BLOCKS");
    let (mut sent, mut heard) = (Vec::new(), HashMap::<String, usize>::new());
    let mut listen = |heard: &mut HashMap<String, usize>| {
        poll().into_iter().for_each(|hash| *heard.entry(hash).or_default() += 1);
    };
    while sent.is_empty() || newest().await? < end {
        sent.push(send(sent.len() as u64).await?);
        sleep(Duration::from_secs_f64(moments.random::<f64>() * EVENT_MS / 1000.0)).await;
        listen(&mut heard);
    }
    let deadline = Instant::now() + LATE;
    while !sent.iter().all(|hash| heard.contains_key(hash)) && Instant::now() < deadline {
        sleep(Duration::from_millis(100)).await;
        listen(&mut heard);
    }
    sleep(QUIET).await;
    listen(&mut heard);
    let lost = sent.iter().filter(|hash| !heard.contains_key(*hash)).count();
    let repeated: usize = heard.values().map(|times| times - 1).sum();
    if lost + repeated > 0 {
        return Err(format!("of {} events {lost} lost and {repeated} heard again", sent.len()).into());
    }
    Ok(())
}
