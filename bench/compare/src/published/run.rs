//! Measures rows: setups once for each program, commands in turn, each command once however many rows read
//! figures from it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use paired::{Comparison, Finished, MARGIN, median};

use super::figure::{Side, figure, moved_and_written};
use super::table::{Better, Metric, Row, RunMethod, Setup};
use crate::collect::{self, Case, Costs};
use crate::compare::{Arena, entrants};
use crate::versions::{self, collection, ycsb};
use bench_worker::worker::Common;
use bench_worker::workload::Workload;

/// A command that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(1_800);

/// The measurements of a row.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The median figure of Esker.
    pub ours: Side,
    /// The median figure of RocksDB.
    pub theirs: Side,
    /// The mean and the standard deviation over the rounds, of Esker and of RocksDB; `None` for fewer than
    /// two rounds.
    pub means: [Option<(f64, f64)>; 2],
    /// The factor by which we are better.
    pub ratio: Option<Comparison>,
}

/// The outputs of a program, one for each round. After the first failure the program is not run again.
type Runs = Result<Vec<Finished>, String>;

pub struct Runner {
    /// The paths of db_bench of Esker and of RocksDB.
    programs: [PathBuf; 2],
    dir: PathBuf,
    rounds: usize,
    setups: HashMap<(usize, String), Result<PathBuf, String>>,
    commands: HashMap<String, [Runs; 2]>,
    engines: HashMap<String, Result<[Vec<f64>; 2], String>>,
    collections: HashMap<Case, Result<Costs, String>>,
    ycsb: HashMap<ycsb::Case, Result<[Vec<ycsb::Outcome>; 2], String>>,
    /// The header lines of RocksDB's program.
    pub introduction: Vec<String>,
}

impl Runner {
    pub fn new(programs: [PathBuf; 2], dir: PathBuf, rounds: usize) -> Runner {
        Runner {
            programs,
            dir,
            rounds,
            setups: HashMap::new(),
            commands: HashMap::new(),
            engines: HashMap::new(),
            collections: HashMap::new(),
            ycsb: HashMap::new(),
            introduction: Vec::new(),
        }
    }

    /// Measures a row.
    pub fn measure(&mut self, row: &Row) -> Cell {
        let figures = match &row.run {
            RunMethod::DbBench {
                setup,
                flags,
                workload,
            } => {
                let runs = self.db_bench(setup.as_ref(), flags);
                runs.map(|runs| {
                    runs.and_then(|runs| runs.iter().map(|run| figure(run, workload, row.metric)).collect())
                })
            }
            RunMethod::Engines {
                benchmark,
                num,
                write_buffer_size,
            } => of_both(self.engines(*benchmark, *num, *write_buffer_size)),
            RunMethod::Collect(case) => of_both(self.collection(*case, row.metric)),
            RunMethod::Versions(case) => of_both(versions::measure(*case, self.rounds)),
            RunMethod::Collection(case) => of_both(collection::measure(*case, self.rounds)),
            RunMethod::Ycsb(case) => of_both(self.ycsb(*case, row.metric)),
        };
        cell(figures, row.metric.better())
    }

    fn ycsb(&mut self, case: ycsb::Case, metric: Metric) -> Result<[Vec<f64>; 2], String> {
        let dir = self.dir.join("ycsb");
        let measured = self.ycsb.entry(case);
        let outcomes = measured
            .or_insert_with(|| ycsb::measure(case, self.rounds, &dir))
            .clone()?;
        let figure = |outcome: &ycsb::Outcome| match metric {
            Metric::TableMegabytes => outcome.most_table_bytes as f64 / 1e6,
            _ => outcome.operations_per_second,
        };
        Ok(outcomes.map(|outcomes| outcomes.iter().map(figure).collect()))
    }

    fn collection(&mut self, case: Case, metric: Metric) -> Result<[Vec<f64>; 2], String> {
        let dir = self.dir.join("collect");
        let measured = self.collections.entry(case);
        let costs = measured
            .or_insert_with(|| collect::measure(case, self.rounds, &dir))
            .clone()?;
        match metric {
            Metric::InstructionsPerCall => Ok(costs.instructions?.map(|count| vec![count])),
            _ => Ok(costs.micros),
        }
    }

    fn db_bench(&mut self, setup: Option<&Setup>, flags: &str) -> [Runs; 2] {
        let key = format!("{} {flags}", setup.map_or("", |setup| &setup.name));
        if let Some(runs) = self.commands.get(&key) {
            return runs.clone();
        }
        let mut runs: [Runs; 2] = [Ok(Vec::new()), Ok(Vec::new())];
        for round in 0..self.rounds {
            for turn in 0..2 {
                let at = (round + turn) % 2;
                if runs[at].is_err() {
                    continue;
                }
                let seed = 1_000 * (round as u64 + 1);
                match (self.once(at, setup, flags, seed), &mut runs[at]) {
                    (Ok(finished), Ok(list)) => list.push(finished),
                    (Err(message), list) => *list = Err(message),
                    (Ok(_), Err(_)) => {}
                }
            }
        }
        self.commands.insert(key, runs.clone());
        runs
    }

    /// One run of program `at`.
    fn once(&mut self, at: usize, setup: Option<&Setup>, flags: &str, seed: u64) -> Result<Finished, String> {
        let finished = match setup {
            Some(setup) => {
                let db = self.set_up(at, setup)?;
                if setup.cold {
                    evict(&db)?;
                }
                self.command(at, flags, &db, true, seed)?
            }
            None => {
                let db = self.dir.join(format!("{at}-fresh"));
                let mut finished = self.command(at, flags, &db, false, seed);
                if let Ok(finished) = &mut finished {
                    let log = std::fs::read_to_string(db.join("LOG")).unwrap_or_default();
                    finished.output.push_str(&moved_and_written(&log));
                }
                let _ = std::fs::remove_dir_all(&db);
                finished?
            }
        };
        if at == 1 && self.introduction.is_empty() {
            self.introduction = introduction(&finished);
        }
        Ok(finished)
    }

    /// The database of the setup, which is created at its first use.
    fn set_up(&mut self, at: usize, setup: &Setup) -> Result<PathBuf, String> {
        let key = (at, setup.name.clone());
        if let Some(made) = self.setups.get(&key) {
            return made.clone();
        }
        let db = self.dir.join(format!("{at}-{}", setup.name));
        let made = self.command(at, &setup.flags, &db, false, 301).map(|_| db);
        self.setups.insert(key, made.clone());
        made
    }

    fn command(
        &self,
        at: usize,
        flags: &str,
        db: &Path,
        existing: bool,
        seed: u64,
    ) -> Result<Finished, String> {
        let mut command = Command::new(&self.programs[at]);
        command
            .args(flags.split_whitespace())
            .arg(format!("--use_existing_db={existing}"))
            .arg(format!("--db={}", db.display()))
            .arg(format!("--seed={seed}"));
        if at == 0 && flags.contains("--benchmarks=mixgraph") {
            // Without this flag Esker's db_bench reads keys by the given distributions, and RocksDB's reads
            // keys that were never written.
            command.arg("--mixgraph_like_rocksdb");
        }
        // Error messages are printed in the document, which must not contain the path of the program.
        let path = self.programs[at].display().to_string();
        paired::run(&mut command, LIMIT).map_err(|message| message.replacen(&path, "db_bench", 1))
    }

    fn engines(
        &mut self,
        benchmark: Workload,
        num: u64,
        write_buffer_size: usize,
    ) -> Result<[Vec<f64>; 2], String> {
        let key = format!("{benchmark} {num} {write_buffer_size}");
        if let Some(figures) = self.engines.get(&key) {
            return figures.clone();
        }
        let figures = self.run_engines(benchmark, num, write_buffer_size);
        self.engines.insert(key, figures.clone());
        figures
    }

    fn run_engines(
        &self,
        benchmark: Workload,
        num: u64,
        write_buffer_size: usize,
    ) -> Result<[Vec<f64>; 2], String> {
        let common = Common {
            num,
            write_buffer_size,
            no_compression: true,
            ..Common::small()
        };
        let entrants = entrants("esker,rocksdb-tuned", 0.0)?;
        let arena = Arena {
            entrants: &entrants,
            common: &common,
            rounds: self.rounds,
            dir: self.dir.join("engines"),
        };
        let samples = arena.run(benchmark)?;
        let of = |at: usize| {
            samples[at]
                .iter()
                .map(|sample| sample.write_amplification)
                .collect()
        };
        Ok([of(0), of(1)])
    }
}

/// The figures of the two sides, or for each the reason why there are none.
fn of_both(measured: Result<[Vec<f64>; 2], String>) -> [Result<Vec<f64>, String>; 2] {
    match measured {
        Ok(figures) => figures.map(Ok),
        Err(message) => [Err(message.clone()), Err(message)],
    }
}

fn cell(figures: [Result<Vec<f64>, String>; 2], better: Better) -> Cell {
    let ratio = match &figures {
        [Ok(ours), Ok(theirs)] => {
            let ratios: Vec<f64> = ours
                .iter()
                .zip(theirs)
                .map(|(ours, theirs)| match better {
                    Better::More => ours / theirs,
                    Better::Less => theirs / ours,
                })
                .collect();
            Comparison::new(&ratios, MARGIN)
        }
        _ => None,
    };
    let means = figures.each_ref().map(|side| mean(side.as_ref().ok()?));
    let [ours, theirs] = figures.map(|side| side.map(|figures| median(&figures)));
    Cell {
        ours,
        theirs,
        means,
        ratio,
    }
}

/// The mean of at least two figures, and their standard deviation.
fn mean(figures: &[f64]) -> Option<(f64, f64)> {
    let count = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / count;
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    (figures.len() > 1).then(|| (mean, (squares / (count - 1.0)).sqrt()))
}

/// Removes the files in `dir` from the page cache.
fn evict(dir: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if !path.is_file() {
            continue;
        }
        // Pages that are not on the disk yet stay in the cache.
        let file = std::fs::File::open(&path).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let mut dd = Command::new("dd");
        let of = format!("if={}", path.display());
        let evicted = dd.args([&of, "iflag=nocache", "count=0", "status=none"]).status();
        if !evicted.map_err(|error| format!("dd: {error}"))?.success() {
            return Err(format!("dd {of} iflag=nocache failed"));
        }
    }
    Ok(())
}

/// Name, version and warnings.
fn introduction(finished: &Finished) -> Vec<String> {
    let lines = finished.errors.lines().chain(finished.output.lines());
    lines
        .map(|line| line.rsplit('\r').next().unwrap_or(line).trim())
        .filter(|line| line.contains(" version ") || line.starts_with("WARNING:"))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_introduces_itself() {
        let finished = Finished {
            output: "fillseq : 1.0 micros/op 9 ops/sec;\n".to_owned(),
            errors: "RocksDB:    version 11.8.1\n".to_owned(),
            cost: paired::Cost::default(),
        };
        assert_eq!(introduction(&finished), ["RocksDB: version 11.8.1"]);
    }

    #[test]
    fn files_leave_the_page_cache_and_keep_what_is_in_them() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("directory")).unwrap();
        std::fs::write(dir.path().join("file"), [7; 10_000]).unwrap();
        evict(dir.path()).unwrap();
        assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), [7; 10_000]);
        assert!(
            evict(&dir.path().join("nowhere"))
                .unwrap_err()
                .contains("nowhere")
        );
    }

    #[test]
    fn means_and_deviations_of_rounds() {
        let cell = cell([Ok(vec![1.0, 2.0, 3.0]), Ok(vec![5.0])], Better::More);
        assert_eq!(cell.means, [Some((2.0, 1.0)), None]);
    }

    #[test]
    fn better_is_above_one_whichever_way_the_metric_goes() {
        let figures = || [Ok(vec![2.0; 6]), Ok(vec![4.0; 6])];
        assert_eq!(cell(figures(), Better::More).ratio.unwrap().median, 0.5);
        assert_eq!(cell(figures(), Better::Less).ratio.unwrap().median, 2.0);
        let failed = cell([Err("no".to_owned()), Ok(vec![1.0])], Better::More);
        assert!(failed.ratio.is_none() && failed.ours.is_err() && failed.theirs == Ok(1.0));
        // No side stalled: there is no ratio.
        assert!(
            cell([Ok(vec![0.0; 6]), Ok(vec![0.0; 6])], Better::Less)
                .ratio
                .is_none()
        );
    }

    #[test]
    fn programs_run_in_turn_and_refusals_stay_in_their_cell() {
        let dir = tempfile::tempdir().unwrap();
        let script = |name: &str, text: &str| {
            use std::os::unix::fs::PermissionsExt;
            let path = dir.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let log = dir.path().join("log");
        let line = "readrandom : 1.0 micros/op 500 ops/sec 1.0 seconds 500 operations; (5 of 9 found)";
        let ours = script(
            "ours",
            &format!("echo ours $2 $3 >> {0}\necho '{line}'", log.display()),
        );
        let theirs = script(
            "theirs",
            &format!("echo theirs $2 $3 >> {0}\necho '{line}'", log.display()),
        );
        let refusing = script(
            "refusing",
            "echo \"unknown command line flag 'async_io'\" >&2; exit 1",
        );
        let row = Row {
            label: String::new(),
            published: String::new(),
            before: None,
            metric: Metric::OpsPerSecond,
            run: RunMethod::DbBench {
                setup: Some(Setup {
                    name: "a".to_owned(),
                    flags: "--benchmarks=fillseq".to_owned(),
                    cold: false,
                }),
                flags: "--benchmarks=readrandom".to_owned(),
                workload: "readrandom",
            },
        };
        let mut runner = Runner::new([ours.clone(), theirs], dir.path().join("db"), 2);
        let cell = runner.measure(&row);
        assert_eq!((cell.ours.clone(), cell.theirs.clone()), (Ok(500.0), Ok(500.0)));
        runner.measure(&row);
        let log = std::fs::read_to_string(log).unwrap();
        let order: Vec<&str> = log
            .lines()
            .map(|line| line.split_once(" --db").unwrap().0)
            .collect();
        let (set_up, measured) = ("--use_existing_db=false", "--use_existing_db=true");
        let expected = [
            ("ours", set_up),
            ("ours", measured),
            ("theirs", set_up),
            ("theirs", measured),
            ("theirs", measured),
            ("ours", measured),
        ];
        assert_eq!(order, expected.map(|(who, what)| format!("{who} {what}")));
        let mut runner = Runner::new([ours, refusing], dir.path().join("db2"), 2);
        let cell = runner.measure(&row);
        assert!(cell.ours.is_ok() && cell.ratio.is_none());
        assert!(cell.theirs.unwrap_err().contains("async_io"));
    }
}
