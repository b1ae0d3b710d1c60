//! `published`: the tables of the documents Esker started from, run again. The tables are in `bench-compare`,
//! which links RocksDB.

use crate::peer;
use crate::shell::{self, Outcome};

/// Builds both programs and runs the tables; `args` are those of `bench-compare published`. Without `--peer`
/// the other program is the one that `cargo xtask peer` has built, or RocksDB's db_bench on the search path.
pub fn run(args: &[String]) -> Outcome {
    let mut args = args.to_vec();
    let has_peer = args.iter().any(|arg| arg.starts_with("--peer"));
    match peer::program() {
        Some(program) if !has_peer => args.push(format!("--peer={}", program.display())),
        None if !has_peer && shell::which("db_bench").is_none() => {
            return Err(
                "no db_bench of RocksDB: build it by `cargo xtask peer`, install Debian's rocksdb-tools, or say --peer PATH"
                    .into(),
            );
        }
        _ => {}
    }
    let build = [
        "build",
        "--release",
        "--package",
        "db_bench",
        "--package",
        "bench-compare",
    ];
    shell::run(shell::cargo().args(build))?;
    let run = [
        "run",
        "--quiet",
        "--release",
        "--package",
        "bench-compare",
        "--",
        "published",
    ];
    shell::run(shell::cargo().args(run).args(args))
}
