//! `--peer PATH`: compares this program with RocksDB's db_bench, or with another build of Esker's.
//!
//! A round runs the two programs one after the other, alternating which is first, with the flags of the
//! command line and the same seed, each over a fresh database of its own. Result lines are paired by their
//! order. The ratio of a pair's operations a second, above 1 if Esker is faster, is judged over all rounds by
//! [`paired::Comparison`].

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use paired::{Comparison, Cost, Finished, Line, MARGIN, median};

use crate::flags::Flags;

/// Flags that have different values in the two programs, or that concern only this program; each takes a
/// value.
const OURS: &[&str] = &["peer", "peer_rounds", "db", "seed"];

/// A benchmark that takes longer has hung.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// Runs the two programs over all rounds and prints the comparison. `args` is the command line that `flags`
/// were parsed from.
pub fn compare(flags: &Flags, args: &[String]) -> Result<(), String> {
    if flags.use_existing_db {
        return Err(
            "--peer gives each program a fresh database: --use_existing_db cannot be had with it".into(),
        );
    }
    if flags.benchmarks.is_empty() {
        return Err("--peer needs --benchmarks".into());
    }
    let ours = std::env::current_exe().map_err(|error| error.to_string())?;
    let programs = [
        Program {
            name: "ours",
            path: ours,
            args: shared(args),
        },
        Program {
            name: "peer",
            path: PathBuf::from(&flags.peer),
            args: shared(args).iter().map(|arg| plain_number(arg)).collect(),
        },
    ];
    let base = if flags.seed == 0 {
        base::env::fresh_seed() >> 32
    } else {
        flags.seed as u64
    };
    println!("Seed: {base}; each round adds 1,000");
    let mut rounds = Vec::new();
    for round in 0..flags.peer_rounds.max(1) as u64 {
        let mut both = [None, None];
        for turn in 0..2 {
            let at = (round as usize + turn) % 2;
            let finished = programs[at].run(&flags.db, base.wrapping_add(1_000 * round))?;
            let pairs = paired::lines(&finished.output);
            eprintln!("round {}, {}: {}", round + 1, programs[at].name, rates(&pairs));
            both[at] = Some((finished, pairs));
        }
        let [Some(ours), Some(peer)] = both else { continue };
        if round == 0 {
            print!("{}", introduction(&peer.0));
        }
        rounds.push([ours, peer]);
    }
    print!("{}", report(&rounds)?);
    Ok(())
}

struct Program {
    name: &'static str,
    path: PathBuf,
    args: Vec<String>,
}

impl Program {
    /// Runs a program over a fresh database, in `place` or, if that is empty, in the test directory.
    fn run(&self, place: &str, seed: u64) -> Result<Finished, String> {
        let place = match place {
            "" => ::flags::test_directory()?,
            place => PathBuf::from(place),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix("db_bench-");
        let dir = std::fs::create_dir_all(&place).and_then(|()| builder.tempdir_in(&place));
        let dir = dir.map_err(|error| format!("{}: {error}", place.display()))?;
        let db = dir.path().join("db");
        let mut command = Command::new(&self.path);
        command
            .args(&self.args)
            .arg(format!("--db={}", db.display()))
            .arg(format!("--seed={seed}"));
        paired::run(&mut command, LIMIT)
    }
}

/// The command line for both programs, without the flags in [`OURS`].
fn shared(args: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let body = arg.trim_start_matches('-');
        let (name, has_value) = body
            .split_once('=')
            .map_or((body, false), |(name, _)| (name, true));
        if !OURS.contains(&name.replace('-', "_").as_str()) {
            kept.push(arg.clone());
        } else if !has_value {
            args.next();
        }
    }
    kept
}

/// A number without the suffixes `k`, `m`, `g` and `t`, which gflags does not parse.
fn plain_number(arg: &str) -> String {
    let (flag, value) = arg
        .split_once('=')
        .map_or(("", arg), |(flag, value)| (flag, value));
    let Some((at, unit)) = value.char_indices().next_back() else {
        return arg.to_owned();
    };
    let shift = match unit.to_ascii_lowercase() {
        'k' => 10,
        'm' => 20,
        'g' => 30,
        't' => 40,
        _ => return arg.to_owned(),
    };
    match value[..at]
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
    {
        Some(number) if flag.is_empty() => number.to_string(),
        Some(number) => format!("{flag}={number}"),
        None => arg.to_owned(),
    }
}

fn rates(lines: &[Line]) -> String {
    let rates: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {:.0} ops/sec", line.name, line.ops_per_second))
        .collect();
    rates.join(", ")
}

/// The peer's name and version, and its warnings.
fn introduction(peer: &Finished) -> String {
    let texts = peer.errors.lines().chain(peer.output.lines());
    texts
        .map(|line| line.rsplit('\r').next().unwrap_or(line).trim())
        .filter(|line| line.contains(": ") && line.contains(" version ") || line.starts_with("WARNING:"))
        .map(|line| format!("Peer: {line}\n"))
        .collect()
}

/// Selects a figure of a cost.
type CostFigure = fn(&Cost) -> f64;

/// The runs of the two programs in a round, this program's first.
type Round = [(Finished, Vec<Line>); 2];

fn report(rounds: &[Round]) -> Result<String, String> {
    let [(_, first), _] = rounds.first().ok_or("no rounds")?;
    let names: Vec<&str> = first.iter().map(|line| line.name.as_str()).collect();
    for [(_, ours), (_, peer)] in rounds {
        for lines in [ours, peer] {
            if !lines
                .iter()
                .map(|line| line.name.as_str())
                .eq(names.iter().copied())
            {
                return Err(format!(
                    "result lines differ: {} here, {} there",
                    rates(ours),
                    rates(peer)
                ));
            }
        }
    }
    let mut text = format!(
        "{:<24} {:>14} {:>14}   {:<24} {}\n",
        "", "ours ops/sec", "peer ops/sec", "ratio (95% interval)", "verdict"
    );
    for (at, name) in names.iter().enumerate() {
        let column = |who: usize| -> Vec<f64> {
            rounds
                .iter()
                .map(|round| round[who].1[at].ops_per_second)
                .collect()
        };
        let (ours, peer) = (column(0), column(1));
        let ratios: Vec<f64> = ours.iter().zip(&peer).map(|(ours, peer)| ours / peer).collect();
        let verdict = Comparison::new(&ratios, MARGIN).map_or_else(
            || "no rate to compare".to_owned(),
            |comparison| {
                format!(
                    "{:<24} {}",
                    comparison.to_string(),
                    comparison.words("ours", "peer")
                )
            },
        );
        text.push_str(&format!(
            "{name:<24} {:>14.0} {:>14.0}   {verdict}\n",
            median(&ours),
            median(&peer)
        ));
        same_work(
            name,
            rounds.iter().map(|round| [&round[0].1[at], &round[1].1[at]]),
        )?;
    }
    let cost = |who: usize, of: CostFigure| {
        let costs: Vec<f64> = rounds.iter().map(|round| of(&round[who].0.cost)).collect();
        median(&costs)
    };
    let rows: [(&str, CostFigure); 3] = [
        ("CPU seconds", |cost| cost.cpu_seconds),
        ("peak RSS, MiB", |cost| cost.peak_rss as f64 / 1_048_576.0),
        ("written to storage, MiB", |cost| {
            cost.written as f64 / 1_048_576.0
        }),
    ];
    for (name, of) in rows {
        text.push_str(&format!(
            "{name:<24} {:>14.1} {:>14.1}\n",
            cost(0, of),
            cost(1, of)
        ));
    }
    let amplification = |who: usize| -> Vec<f64> {
        rounds
            .iter()
            .filter_map(|round| paired::write_amplification(&round[who].0.output))
            .collect()
    };
    let (ours, peer) = (amplification(0), amplification(1));
    if !ours.is_empty() && !peer.is_empty() {
        let name = "write amplification";
        text.push_str(&format!(
            "{name:<24} {:>14.1} {:>14.1}\n",
            median(&ours),
            median(&peer)
        ));
    }
    Ok(text)
}

/// Fails if one program found more of its keys than chance explains. The keys themselves differ, because the
/// generators do.
fn same_work<'a>(name: &str, rounds: impl Iterator<Item = [&'a Line; 2]>) -> Result<(), String> {
    for [ours, peer] in rounds {
        let (Some(ours), Some(peer)) = (ours.found, peer.found) else {
            continue;
        };
        let share = |(found, of): (u64, u64)| found as f64 / of.max(1) as f64;
        let chance = |(_, of): (u64, u64)| 2.5 / (of.max(1) as f64).sqrt();
        if (share(ours) - share(peer)).abs() > 0.01 + chance(ours) + chance(peer) {
            return Err(format!(
                "{name}: {:.1}% of the keys found here, {:.1}% by the peer: not the same work",
                share(ours) * 100.0,
                share(peer) * 100.0
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn finished(output: &str) -> (Finished, Vec<Line>) {
        let finished = Finished {
            output: output.to_owned(),
            errors: String::new(),
            cost: Cost::default(),
        };
        let lines = paired::lines(&finished.output);
        (finished, lines)
    }

    fn round(ours: u64, peer: u64) -> Round {
        let line = |rate: u64| {
            finished(&format!(
                "readrandom : 1.000 micros/op {rate} ops/sec 1 seconds 1000 operations; (630 of 1000 found)\n"
            ))
        };
        [line(ours), line(peer)]
    }

    #[test]
    fn our_flags_are_kept_from_the_peer() {
        let args = words("--peer=/x --num=5 --db /tmp/d -seed=3 --peer_rounds 4 --sync --benchmarks=fillseq");
        assert_eq!(shared(&args), words("--num=5 --sync --benchmarks=fillseq"));
        assert_eq!(plain_number("--cache_size=1g"), "--cache_size=1073741824");
        assert_eq!(plain_number("4k"), "4096");
        for same in [
            "--num=17",
            "--sync",
            "--compression_type=zstd",
            "--db=/tmp/2k/x",
            "--statistics",
        ] {
            assert_eq!(plain_number(same), same);
        }
    }

    #[test]
    fn ratios_are_judged() {
        let rounds: Vec<Round> = (0..8)
            .map(|round_number| round(2_000 + round_number, 1_000))
            .collect();
        let text = report(&rounds).unwrap();
        assert!(text.contains("ours is better by 100%"), "{text}");
        let rounds: Vec<Round> = (0..8).map(|at| round(1_000 + at % 2, 1_000 + at % 3)).collect();
        assert!(report(&rounds).unwrap().contains("no difference"));
        let rounds: Vec<Round> = (0..3).map(|_| round(1_000, 1_000)).collect();
        assert!(report(&rounds).unwrap().contains("too few rounds"));
    }

    #[test]
    fn other_work_is_refused() {
        let line = |found: u64| {
            finished(&format!(
                "readrandom : 1.0 micros/op 9 ops/sec; ({found} of 100000 found)\n"
            ))
        };
        let error = report(&[[line(63_000), line(100_000)]]).unwrap_err();
        assert!(error.contains("not the same work"), "{error}");
        report(&[[line(63_000), line(63_300)]]).unwrap();
        let other = finished("fillseq : 1.0 micros/op 9 ops/sec;\n");
        assert!(
            report(&[[line(1), other]])
                .unwrap_err()
                .contains("result lines differ")
        );
    }

    #[test]
    fn a_peer_is_run_with_a_database_and_a_seed_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("peer.sh");
        std::fs::write(&script, "echo \"$@\"\n").unwrap();
        let program = Program {
            name: "peer",
            path: PathBuf::from("/bin/sh"),
            args: vec![script.to_string_lossy().into_owned(), "--num=5".to_owned()],
        };
        let place = dir.path().join("dbs");
        let finished = program.run(&place.to_string_lossy(), 77).unwrap();
        let expected = format!("--num=5 --db={}/db_bench-", place.display());
        assert!(finished.output.starts_with(&expected), "{}", finished.output);
        assert!(
            finished.output.trim_end().ends_with("/db --seed=77"),
            "{}",
            finished.output
        );
        assert_eq!(
            std::fs::read_dir(&place).unwrap().count(),
            0,
            "the database was left behind"
        );
    }
}
