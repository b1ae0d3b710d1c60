//! `published`: the tables of the documents Esker started from, run again. The tables are `bench-compare`'s, which links RocksDB.

use crate::shell::{self, Outcome};

/// Builds both programs and runs the tables; `args` are those of `bench-compare published`.
pub fn run(args: &[String]) -> Outcome {
    let has_peer = args.iter().any(|arg| arg.starts_with("--peer"));
    if !has_peer && shell::which("db_bench").is_none() {
        return Err(
            "no db_bench of RocksDB on the search path: install Debian's rocksdb-tools, or say --peer PATH"
                .into(),
        );
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
