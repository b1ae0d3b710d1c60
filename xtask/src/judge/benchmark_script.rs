//! RocksDB's `tools/benchmark.sh`, unmodified, from the registry's package, over db_bench: its jobs one after
//! the other, and the rows of the report that it makes of their output.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::package::fetch;
use super::{Count, Fault, not_understood};
use crate::shell::{self, Outcome};

/// The jobs in the order in which they run over one database, and whether each takes its time from
/// `DURATION`. Those that merge come after those without a merge operator: RocksDB's own db_bench crashes
/// where it reads operands without one.
const JOBS: &[(&str, bool)] = &[
    ("bulkload", false),
    ("fillseq_disable_wal", false),
    ("fillseq_enable_wal", false),
    ("filluniquerandom", false),
    ("flush_mt_l0", false),
    ("waitforcompaction", false),
    ("readrandom", true),
    ("multireadrandom", true),
    ("fwdrange", true),
    ("revrange", true),
    ("overwrite", true),
    ("overwritesome", true),
    ("overwriteandwait", true),
    ("updaterandom", true),
    ("readwhilewriting", true),
    ("fwdrangewhilewriting", true),
    ("revrangewhilewriting", true),
    ("mergerandom", true),
    ("readwhilemerging", true),
    ("fwdrangewhilemerging", true),
    ("revrangewhilemerging", true),
    ("randomtransaction", true),
    ("universal_compaction", false),
];

/// The rows of the report: not every job writes one.
const ROWS: usize = 19;

/// The number of jobs that must end with 0, and of rows without an empty column.
pub const CHECKS: usize = JOBS.len() + ROWS;

/// The settings of every job: a small database, so that the whole takes a minute or two.
const SETTINGS: &[(&str, &str)] = &[
    ("NUM_KEYS", "5000"),
    ("NUM_THREADS", "2"),
    ("COMPRESSION_TYPE", "lz4"),
    ("CACHE_SIZE", "8388608"),
    ("WRITE_BUFFER_SIZE_MB", "1"),
    ("TARGET_FILE_SIZE_BASE_MB", "1"),
    ("MAX_BYTES_FOR_LEVEL_BASE_MB", "4"),
    ("MAX_BACKGROUND_JOBS", "2"),
    ("MB_WRITE_PER_SEC", "2"),
    ("DB_BENCH_NO_SYNC", "1"),
    ("STATS_INTERVAL_SECONDS", "1"),
    ("JOB_ID", "judge"),
];

/// Programs that the script starts to watch the machine, and the one by whose name it ends them. The report
/// needs none of them, and none of another user's may be ended.
const WATCHERS: &[&str] = &["iostat", "vmstat", "killall"];

/// Programs without which the report lacks columns.
const NEEDED: &[&str] = &["bash", "awk", "bc", "ps"];

/// Runs the jobs. `--with=PATH` runs them with the db_bench of that path, for example RocksDB's by
/// `cargo xtask peer`.
pub fn run(words: &[&str]) -> Result<Count, Fault> {
    let program = match words {
        [] => built()?,
        [word] => PathBuf::from(
            word.strip_prefix("--with=")
                .ok_or_else(|| not_understood(words))?,
        ),
        _ => return Err(not_understood(words)),
    };
    let mut missing = NEEDED.iter().copied().filter(|tool| shell::which(tool).is_none());
    if let Some(tool) = missing.next() {
        return Err(Fault::Unreachable(format!("there is no {tool}")));
    }
    if !Path::new("/usr/bin/time").exists() {
        return Err(Fault::Unreachable("there is no /usr/bin/time".to_owned()));
    }
    let script = fetch("librocksdb-sys", "0.19.0+11.8.1")?.join("rocksdb/tools/benchmark.sh");
    let scratch = shell::root().join(super::SCRATCH).join("benchmark.sh");
    prepare(&scratch, &program)?;
    let mut count = Count::default();
    for (job, timed) in JOBS {
        match run_job(&script, &scratch, job, *timed)? {
            true => count.passed += 1,
            false => count
                .failed
                .push(format!("{job}: see log/{job} in {}", scratch.display())),
        }
    }
    let report = scratch.join("out/report.tsv");
    let text = fs::read_to_string(&report).map_err(|error| format!("{}: {error}", report.display()))?;
    print!("{text}");
    let rows = rows(&text);
    count.not_built = ROWS.saturating_sub(rows.len());
    for row in rows {
        match row {
            Ok(()) => count.passed += 1,
            Err(what) => count.failed.push(what),
        }
    }
    Ok(count)
}

/// Builds db_bench as for its users, and returns its path.
fn built() -> Result<PathBuf, String> {
    shell::run(shell::cargo().args(["build", "--release", "--package", "db_bench", "--bin", "db_bench"]))?;
    Ok(shell::target().join("release/db_bench"))
}

/// Empties the directory of an earlier run, and puts there what the script wants: `db_bench` in the directory
/// where it is started, and programs in place of those that watch the machine.
fn prepare(scratch: &Path, program: &Path) -> Outcome {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let _ = fs::remove_dir_all(scratch);
    for name in ["bin", "db", "wal", "out", "log"] {
        let dir = scratch.join(name);
        fs::create_dir_all(&dir).map_err(|error| failed(&dir, error))?;
    }
    let program = program.canonicalize().map_err(|error| failed(program, error))?;
    let link = scratch.join("db_bench");
    std::os::unix::fs::symlink(program, &link).map_err(|error| failed(&link, error))?;
    for name in WATCHERS {
        let path = scratch.join("bin").join(name);
        fs::write(&path, "#!/bin/sh\nexit 0\n").map_err(|error| failed(&path, error))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .map_err(|error| failed(&path, error))?;
    }
    Ok(())
}

/// Runs one job and returns true if the script ended with 0.
fn run_job(script: &Path, scratch: &Path, job: &str, timed: bool) -> Result<bool, String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = shell::command("bash")
        .arg(script)
        .arg(job)
        .current_dir(scratch)
        .env("PATH", format!("{}:{path}", scratch.join("bin").display()))
        .env("DB_DIR", scratch.join("db"))
        .env("WAL_DIR", scratch.join("wal"))
        .env("OUTPUT_DIR", scratch.join("out"))
        .env("DURATION", if timed { "1" } else { "0" })
        .envs(SETTINGS.iter().copied())
        .output()
        .map_err(|error| format!("{}: {error}", script.display()))?;
    let log = scratch.join("log").join(job);
    let said = [output.stdout, output.stderr].concat();
    fs::write(&log, said).map_err(|error| format!("{}: {error}", log.display()))?;
    Ok(output.status.success())
}

/// Checks the rows of a report: an error names the row and its empty columns.
fn rows(report: &str) -> Vec<Result<(), String>> {
    let mut lines = report.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let name_at = names.iter().position(|name| *name == "test");
    lines
        .map(|line| {
            let values: Vec<&str> = line.split('\t').collect();
            let name = name_at.and_then(|at| values.get(at)).unwrap_or(&"a row");
            if values.len() != names.len() {
                return Err(format!("{name}: {} columns, not {}", values.len(), names.len()));
            }
            let columns = names.iter().zip(&values);
            let empty: Vec<&str> = columns
                .filter(|(_, value)| value.trim().is_empty())
                .map(|(name, _)| *name)
                .collect();
            match empty.is_empty() {
                true => Ok(()),
                false => Err(format!("{name}: nothing in {}", empty.join(", "))),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_empty_columns_are_named() {
        let report = "# a remark\nops_sec\tNstall\ttest\n1\t2\tread\n1\t\twrite\n1\tscan\n";
        let found = rows(report);
        assert_eq!(found[0], Ok(()));
        assert_eq!(found[1], Err("write: nothing in Nstall".to_owned()));
        assert_eq!(found[2], Err("a row: 2 columns, not 3".to_owned()));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn jobs_are_once() {
        for (at, (job, _)) in JOBS.iter().enumerate() {
            assert!(JOBS[..at].iter().all(|(other, _)| other != job), "{job}");
        }
    }
}
