//! `make simulate`: runs seeds, counts what was tried, and prints the trace of a failing seed.

use std::{path::PathBuf, process::ExitCode, time::Instant};

use foreseal_simulation::{every_byte, every_cut, play, play_cluster, run_cluster_seeds, run_seeds};

/// Options of the command line.
struct Options {
    first: u64,
    seeds: u64,
    /// Distance between the tested bytes of the small journal and of the small exchange; 0 skips both tests.
    stride: usize,
    json: Option<PathBuf>,
    /// `true` runs clusters instead of single nodes.
    cluster: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options { first: 1, seeds: 100, stride: 0, json: None, cluster: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--cluster" {
            options.cluster = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} takes a number, not {value}"));
        match name.as_str() {
            "--seed" => options.first = number()?,
            "--seeds" => options.seeds = number()?,
            "--stride" => {
                options.stride = usize::try_from(number()?).map_err(|error| error.to_string())?;
            }
            "--json" => options.json = Some(value.into()),
            other => {
                return Err(format!(
                    "there is no option {other}: --seed, --seeds, --stride, --json, --cluster"
                ));
            }
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let began = Instant::now();
    if options.seeds == 1 {
        let (_, trace) = play(options.first).map_err(|failure| failure.to_string())?;
        println!("{}", trace.join("\n"));
    }
    let counts = run_seeds(options.first, options.seeds).map_err(|failure| failure.to_string())?;
    print!("{counts}");
    let (bytes, cuts) = match options.stride {
        0 => (None, None),
        stride => (Some(every_byte(0, stride)?), Some(every_cut(0, stride)?)),
    };
    if let Some(bytes) = bytes {
        println!(
            "{} bytes of {} segments damaged: {} starts, {} refused by segment and offset",
            bytes.bytes, bytes.segments, bytes.starts, bytes.rejected
        );
    }
    if let Some(cuts) = cuts {
        println!(
            "{} connections cut at the bytes of an exchange: {} down, {} up",
            cuts.connections, cuts.down, cuts.up
        );
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{seconds:.1} s");
    let Some(path) = &options.json else { return Ok(()) };
    let report = serde_json::json!({
        "first_seed": options.first, "counts": counts, "damage": bytes, "cuts": cuts, "seconds": seconds,
    });
    std::fs::write(path, report.to_string()).map_err(|error| format!("{}: {error}", path.display()))
}

/// Runs clusters: several sequencers with one quorum store.
fn run_clusters(options: &Options) -> Result<(), String> {
    let began = Instant::now();
    if options.seeds == 1 {
        let (_, trace) = play_cluster(options.first).map_err(|failure| failure.to_string())?;
        println!("{}", trace.join("\n"));
    }
    let counts = run_cluster_seeds(options.first, options.seeds).map_err(|failure| failure.to_string())?;
    let seconds = began.elapsed().as_secs_f64();
    print!("{counts}");
    println!("{seconds:.1} s");
    let Some(path) = &options.json else { return Ok(()) };
    let report = serde_json::json!({ "first_seed": options.first, "counts": counts, "seconds": seconds });
    std::fs::write(path, report.to_string()).map_err(|error| format!("{}: {error}", path.display()))
}

fn main() -> ExitCode {
    let run = |options: Options| if options.cluster { run_clusters(&options) } else { run(&options) };
    match options().and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}
